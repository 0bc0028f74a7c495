//! `firefly serve`: this machine's devices for programs in other processes and on other machines.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use firefly_app::device_list::DeviceList;
use firefly_app::remote::server::Server;
use firefly_app::remote::token::Token;
use firefly_app::streams::note;

const NOTES: &str = "\
Programs name the devices remote:HOST:PORT, with an index as in remote:HOST:PORT:1. Server and clients share a token,
from --token-file or the environment's FIREFLY_TOKEN or FIREFLY_TOKEN_FILE, which clients read too. Beyond the loopback
addresses there has to be one. The connection is not encrypted: docs/guide/remote.md has TLS by a reverse proxy.

Examples:
  firefly serve --device cuda
  firefly serve --device cuda:* --listen 0.0.0.0:7700 --token-file token
  firefly peaks recording.wav --device remote:gpu:7700";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES)]
pub struct ServeArgs {
    /// Devices: auto, cpu, ndarray, wgpu, vulkan, metal, cuda or rocm, with an index as in cuda:1; several as in
    /// cuda:0,cuda:1 or cuda:*
    #[arg(long, value_name = "DEVICE,…", default_value = "auto")]
    device: DeviceList,
    /// Address to listen on; port 0 is one that is free, and named on standard error
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7700")]
    listen: String,
    /// File with the token, at least 16 characters
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Serves until the process is interrupted or terminated.
pub fn run(arguments: &ServeArgs) -> Result<ExitCode> {
    let token = match &arguments.token_file {
        Some(path) => Some(Token::from_file(path)?),
        None => Token::from_environment()?,
    };
    let server = Server::listen(address(&arguments.listen)?, token)?;
    let names = arguments.device.names()?.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let devices = arguments.device.open()?;
    note(format_args!("serving {names} at {}", server.address()));
    server.serve(devices)?;
    Ok(ExitCode::SUCCESS)
}

fn address(listen: &str) -> Result<SocketAddr> {
    let context = || format!("--listen {listen}: an address is HOST:PORT, as in 127.0.0.1:7700");
    listen.to_socket_addrs().with_context(context)?.next().with_context(context)
}
