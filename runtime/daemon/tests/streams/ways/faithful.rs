//! What nobody changed leaves as the very bytes that came.

use seam_wire::Protocol;

use super::shown;
use crate::corpus::{Source, bodies, streams};
use crate::cuts::{self, Cuts};
use crate::drive::{Ran, run, run_body};
use crate::observers::{HoldsAll, rung};
use crate::report::Report;

/// That what left is what came; a stream that broke off has the error of that behind it.
fn same_bytes(source: &Source, ran: &Ran) -> Result<(), String> {
    ran.faultless()?;
    let kept = ran.bytes.iter().zip(&source.bytes).take_while(|(one, other)| one == other).count();
    if kept < source.bytes.len() {
        let (came, left) = (&source.bytes[kept..], &ran.bytes[kept..]);
        let short = |bytes: &[u8]| shown(&bytes[..bytes.len().min(200)]);
        return Err(format!("byte {kept} differs: came {:?}, left {:?}", short(came), short(left)));
    }
    let added = &ran.bytes[kept..];
    let broke_off = ran.outcome == Some(seam_plugin_api::Outcome::ProviderError);
    if added.is_empty() || (broke_off && shown(added).contains("provider_broke_off")) {
        return Ok(());
    }
    Err(format!("something was added ({:?}): {:?}", ran.outcome, shown(added)))
}

fn in_each_way(source: &Source, cuts: Vec<Cuts>, report: &mut Report, run: impl Fn(&Cuts) -> Ran) {
    for cuts in cuts {
        report.check(&format!("{}, {}", source.name, cuts.name), same_bytes(source, &run(&cuts)));
    }
}

/// Without a plugin.
pub(crate) fn untouched(protocol: Protocol) {
    let mut report = Report::default();
    for source in streams(protocol) {
        in_each_way(&source, cuts::every_way(&source), &mut report, |cuts| run(&source, &cuts.at, Vec::new()));
    }
    report.close();
}

/// Held until a finish, or until the stream's end.
pub(crate) fn held(protocol: Protocol, until_finish: bool) {
    let mut report = Report::default();
    for source in streams(protocol) {
        let holds = |cuts: &Cuts| run(&source, &cuts.at, vec![rung(HoldsAll { until_finish })]);
        in_each_way(&source, cuts::some_ways(&source), &mut report, holds);
    }
    report.close();
}

/// Answers that are not streamed: without a plugin and held.
pub(crate) fn bodies_untouched(protocol: Protocol) {
    let mut report = Report::default();
    for source in bodies(protocol) {
        report.check(&source.name, same_bytes(&source, &run_body(&source, Vec::new())));
        let holds = vec![rung(HoldsAll { until_finish: true })];
        report.check(&format!("{}, held", source.name), same_bytes(&source, &run_body(&source, holds)));
    }
    report.close();
}
