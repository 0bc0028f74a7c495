//! `web-bindgen MODULE.wasm FOLDER NAME`: the module and its JavaScript, as `NAME_bg.wasm` and `NAME.js` in FOLDER.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = std::env::args().skip(1);
    let arguments: [String; 3] =
        arguments.collect::<Vec<_>>().try_into().map_err(|_| "usage: web-bindgen MODULE.wasm FOLDER NAME")?;
    let [module, folder, name] = arguments;
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    bindgen
        .input_path(module)
        .out_name(&name)
        .typescript(true)
        .remove_producers_section(true)
        .remove_name_section(true);
    bindgen.web(true)?.generate(folder)?;
    Ok(())
}
