//! `web-bindgen MODULE.wasm FOLDER`: the module and its JavaScript, as `firefly_wasm_bg.wasm` and `firefly_wasm.js` in FOLDER.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(module), Some(folder), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: web-bindgen MODULE.wasm FOLDER".into());
    };
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    bindgen
        .input_path(module)
        .out_name("firefly_wasm")
        .typescript(true)
        .remove_producers_section(true)
        .remove_name_section(true);
    bindgen.web(true)?.generate(folder)?;
    Ok(())
}
