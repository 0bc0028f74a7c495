//! Inlining of kernels, read from the machine code of the test executable itself.
//!
//! The functions that tokens compile for AVX2 and AVX-512 are found by their symbols, which release builds keep unless
//! `strip` is set. Whatever a kernel calls that is not on [`ALLOWED`] should have been inlined.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use elf::ElfBytes;
use elf::abi::{R_X86_64_RELATIVE, SHT_RELA, STT_FUNC};
use elf::endian::LittleEndian;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register};

/// Parts of the names of functions that kernels may call.
const ALLOWED: &[&str] = &[
    // Copies and fills of the C library.
    "memcpy",
    "memmove",
    "memset",
    // Panics.
    "core::panicking::",
    "core::slice::index::",
    "core::num::int_log10::panic",
    // The tables of a transform, computed once per process.
    "OnceLock",
    // Kernels that others share.
    "::run_shared_kernel",
    // Scalar by design: rare rows, and the gradients of windows, whose sums stay in the order of rows.
    "top_k::forward::search_exactly",
    "top_k::forward::restore_order",
    "welch::estimate::WindowedGradients",
    // Scalar by design: frames beyond the ends of rows, and sums over overlapping frames.
    "mel::frame_samples::Framing",
    "mel::frame_samples::FrameGradients",
];

/// An executable's code, its functions, and its pointers to functions.
struct Executable<'a> {
    bytes: &'a [u8],
    file: ElfBytes<'a, LittleEndian>,
    /// Size and name by address.
    functions: BTreeMap<u64, (u64, String)>,
    /// What the dynamic linker writes to an address.
    pointers: HashMap<u64, Pointer>,
}

enum Pointer {
    Address(u64),
    Symbol(String),
}

impl<'a> Executable<'a> {
    fn parse(bytes: &'a [u8]) -> Self {
        let file = ElfBytes::<LittleEndian>::minimal_parse(bytes).expect("an ELF file");
        let (symbols, names) = file.symbol_table().expect("a symbol table").expect("symbols: build without `strip`");
        let functions = symbols
            .iter()
            .filter(|symbol| symbol.st_symtype() == STT_FUNC && symbol.st_size > 0)
            .map(|symbol| {
                let name = names.get(symbol.st_name as usize).expect("a name");
                (symbol.st_value, (symbol.st_size, format!("{:#}", rustc_demangle::demangle(name))))
            })
            .collect();
        let dynamic = file.dynamic_symbol_table().expect("a table of dynamic symbols");
        let mut pointers = HashMap::new();
        let sections = file.section_headers().expect("sections");
        for section in sections.iter().filter(|section| section.sh_type == SHT_RELA) {
            for relocation in file.section_data_as_relas(&section).expect("relocations") {
                let pointer = match &dynamic {
                    _ if relocation.r_type == R_X86_64_RELATIVE => Pointer::Address(relocation.r_addend as u64),
                    Some((symbols, names)) => {
                        let symbol = symbols.get(relocation.r_sym as usize).expect("a dynamic symbol");
                        Pointer::Symbol(names.get(symbol.st_name as usize).expect("a name").to_owned())
                    }
                    None => continue,
                };
                pointers.insert(relocation.r_offset, pointer);
            }
        }
        Self { bytes, file, functions, pointers }
    }

    /// The bytes from `address` on.
    fn at(&self, address: u64) -> &'a [u8] {
        let segments = self.file.segments().expect("segments");
        let segment = segments
            .iter()
            .find(|segment| (segment.p_vaddr..segment.p_vaddr + segment.p_filesz).contains(&address))
            .expect("an address in the file");
        let within = address - segment.p_vaddr;
        &self.bytes[(segment.p_offset + within) as usize..(segment.p_offset + segment.p_filesz) as usize]
    }

    /// The name of the function at `address`; for a stub of the dynamic linker, of the function it jumps to.
    fn name(&self, address: u64) -> String {
        if let Some((&start, (size, name))) = self.functions.range(..=address).next_back()
            && address < start + size
        {
            return name.clone();
        }
        let code = self.at(address);
        let mut decoder = Decoder::with_ip(64, &code[..16.min(code.len())], address, DecoderOptions::NONE);
        let jump = decoder.iter().find(|instruction| instruction.mnemonic() != Mnemonic::Endbr64);
        match jump {
            Some(jump) if jump.flow_control() == FlowControl::IndirectBranch && jump.is_ip_rel_memory_operand() => {
                self.pointee(jump.ip_rel_memory_address())
            }
            _ => format!("unnamed code at {address:#x}"),
        }
    }

    /// The name of the function that the pointer at `address` points to.
    fn pointee(&self, address: u64) -> String {
        match self.pointers.get(&address) {
            Some(Pointer::Symbol(name)) => name.clone(),
            Some(Pointer::Address(target)) => self.name(*target),
            None => {
                let target = self.at(address).first_chunk().expect("a pointer");
                self.name(u64::from_le_bytes(*target))
            }
        }
    }

    /// The names of the functions that `size` bytes of code at `start` call, or jump to at their end, and of those whose
    /// pointers they load: a pointer is loaded into a register before the loop that calls it, and may wait on the stack.
    fn callees(&self, start: u64, size: u64) -> BTreeSet<String> {
        let mut callees = BTreeSet::new();
        let mut loads_pointers = false;
        let mut called_pointers = Vec::new();
        for instruction in &mut Decoder::with_ip(64, &self.at(start)[..size as usize], start, DecoderOptions::NONE) {
            match instruction.flow_control() {
                FlowControl::Call => _ = callees.insert(self.name(instruction.near_branch_target())),
                FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                    let target = instruction.near_branch_target();
                    if !(start..start + size).contains(&target) {
                        callees.insert(self.name(target));
                    }
                }
                FlowControl::IndirectCall if instruction.is_ip_rel_memory_operand() => {
                    callees.insert(self.pointee(instruction.ip_rel_memory_address()));
                }
                FlowControl::IndirectCall => called_pointers.push(instruction),
                _ if instruction.mnemonic() == Mnemonic::Mov && instruction.is_ip_rel_memory_operand() => {
                    if let Some(function) = self.function_pointed_to(instruction.ip_rel_memory_address()) {
                        callees.insert(function);
                        loads_pointers = true;
                    }
                }
                _ => {}
            }
        }
        for call in called_pointers {
            let is_loaded = call.op0_kind() == OpKind::Register || call.memory_base() == Register::RSP;
            if !(is_loaded && loads_pointers) {
                callees.insert(format!("a pointer: {call:?}"));
            }
        }
        callees
    }

    /// The name of the function that the pointer at `address` points to; `None` where no pointer to a function is.
    fn function_pointed_to(&self, address: u64) -> Option<String> {
        match self.pointers.get(&address)? {
            Pointer::Symbol(name) => Some(name.clone()),
            Pointer::Address(target) => self.functions.get(target).map(|(_, name)| name.clone()),
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "kernels are inlined in optimised builds")]
#[cfg_attr(miri, ignore = "Miri has no machine code")]
fn kernels_call_nothing_that_should_be_inlined() {
    let path = std::env::current_exe().expect("the test executable");
    let bytes = std::fs::read(path).expect("a readable executable");
    let executable = Executable::parse(&bytes);
    let mut kernels = [("Avx2Token", 0), ("Avx512Token", 0)];
    let mut found = BTreeMap::<String, usize>::new();
    for (&start, (size, name)) in &executable.functions {
        let Some((_, count)) = kernels.iter_mut().find(|(token, _)| name.contains(token)) else { continue };
        if !name.contains("::run_kernel") && !name.contains("::run_shared_kernel") {
            continue;
        }
        *count += 1;
        for callee in executable.callees(start, *size) {
            if !ALLOWED.iter().any(|allowed| callee.contains(allowed)) {
                *found.entry(callee).or_default() += 1;
            }
        }
    }
    // Every family has kernels, and there are shared ones.
    assert!(kernels.iter().all(|&(_, count)| count >= 10), "kernels found by token: {kernels:?}");
    assert!(found.is_empty(), "functions that were not inlined, and the number of kernels that call them: {found:#?}");
}
