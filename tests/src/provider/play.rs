//! Plays a script onto an answer, whatever protocol it goes out by.

use super::script::{BodyFraming, Finish, Script, Step};
use bytes::Bytes;
use std::io;

/// Where the answer to one request goes.
pub(super) trait Answer {
    async fn head(&mut self, status: u16, headers: &[(String, String)], framing: BodyFraming) -> io::Result<()>;
    async fn chunk(&mut self, bytes: &Bytes) -> io::Result<()>;
    async fn raw(&mut self, bytes: &Bytes) -> io::Result<()>;
    /// The proper end of the body.
    async fn end(&mut self) -> io::Result<()>;
}

/// Plays every step, then says how the script is over. A script that stalls never comes back.
pub(super) async fn play(script: &Script, answer: &mut impl Answer) -> io::Result<Finish> {
    for step in &script.steps {
        match step {
            Step::Head { status, headers, framing } => answer.head(*status, headers, *framing).await?,
            Step::Chunk(bytes) => answer.chunk(bytes).await?,
            Step::Repeat { chunk, times } => {
                for _ in 0..*times {
                    answer.chunk(chunk).await?;
                }
            }
            Step::Raw(bytes) => answer.raw(bytes).await?,
            Step::Wait(gate) => gate.pass().await,
        }
    }
    match script.finish {
        Finish::End => answer.end().await?,
        Finish::Stall => std::future::pending().await,
        Finish::Cut | Finish::Reset => {}
    }
    Ok(script.finish)
}
