//! Clients that leave in the middle, and how long it takes until the provider sees it through the proxy.

use super::connection::{Connection, Target};
use super::stream::Line;
use crate::client::Client;
use crate::os::monotonic_nanos;
use crate::patience::{Backoff, within};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long the provider is given to see it. A client that it has not seen leave by then counts with this time.
pub const LIMIT: Duration = Duration::from_secs(10);

/// When the clients leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before anything of the answer has come: the provider has the request and says nothing.
    BeforeFirst,
    /// After the first chunk of text, while the next one is a second away: no write can tell the proxy.
    AfterFirst,
    /// After the first chunk, in the middle of as many as the provider can send.
    Saturated,
}

impl FromStr for Moment {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "before-first" => Ok(Self::BeforeFirst),
            "after-first" => Ok(Self::AfterFirst),
            "saturated" => Ok(Self::Saturated),
            _ => Err(()),
        }
    }
}

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The proxy.
    pub address: SocketAddr,
    /// The source behind it, which is asked what it saw.
    pub source: SocketAddr,
    /// How many clients.
    pub streams: usize,
    /// When they leave.
    pub moment: Moment,
}

/// Runs the plan, inside a [`tokio::task::LocalSet`]. The report: `left`, `seen`, and `delay_ms` with `p50` and
/// `max` over all clients.
///
/// # Errors
/// When a stream cannot be opened, or the source does not answer.
pub async fn run(plan: Plan) -> io::Result<Value> {
    let model = match plan.moment {
        Moment::BeforeFirst => "fake-mute",
        Moment::AfterFirst => "fake-600x1000ms",
        Moment::Saturated => "fake",
    };
    let target = Target { address: plan.address, model: model.to_owned(), chunks: 900_000 };
    let mut opening = JoinSet::new();
    for index in 0..plan.streams {
        let user = format!("leave-{}-{index}", monotonic_nanos());
        opening.spawn_local(open(target.clone(), user, plan.moment));
    }
    let mut clients = Vec::new();
    while let Some(opened) = within("a stream to be open", opening.join_next()).await? {
        clients.push(opened??);
    }
    let users: Vec<String> = clients.iter().map(|(user, _)| user.clone()).collect();
    until_active(plan.source, &users).await?;
    let mut left = BTreeMap::new();
    for (user, connection) in clients {
        left.insert(user, monotonic_nanos());
        drop(connection);
    }
    let seen = seen(plan.source, &left).await?;
    Ok(report(&left, &seen))
}

/// A client that is about to leave.
async fn open(target: Target, user: String, moment: Moment) -> io::Result<(String, Connection)> {
    let mut connection = Connection::open(&target).await?;
    connection.ask(&target, &user).await?;
    if moment != Moment::BeforeFirst {
        connection.head().await?;
        let mut first = false;
        while !first {
            let goes_on = connection.lines(|line| first |= matches!(line, Line::Text(_))).await?;
            if !goes_on {
                return Err(io::Error::other("an answer without a chunk of text"));
            }
        }
    }
    Ok((user, connection))
}

async fn stats(source: SocketAddr) -> io::Result<Value> {
    Client::connect(source).await?.get("/stats").await?.json().await
}

/// Waits until the provider answers all of these requests.
async fn until_active(source: SocketAddr, users: &[String]) -> io::Result<()> {
    let active = async {
        let mut backoff = Backoff::default();
        loop {
            let stats = stats(source).await?;
            let active = stats["active"].as_array().cloned().unwrap_or_default();
            if users.iter().all(|user| active.iter().any(|one| one == user)) {
                return io::Result::Ok(());
            }
            tokio::time::sleep(backoff.pause()).await;
        }
    };
    within("the requests to reach the provider", active).await?
}

/// When the provider saw each of them leave, of those that it saw.
async fn seen(source: SocketAddr, left: &BTreeMap<String, u64>) -> io::Result<BTreeMap<String, u64>> {
    let deadline = Instant::now() + LIMIT;
    let mut backoff = Backoff::default();
    loop {
        // The first look comes late enough not to keep the provider from looking itself.
        tokio::time::sleep(backoff.pause() * 20).await;
        let stats = stats(source).await?;
        let aborts = stats["aborts"].as_array().cloned().unwrap_or_default();
        let seen: BTreeMap<String, u64> = aborts
            .iter()
            .filter_map(|abort| Some((abort["user"].as_str()?.to_owned(), abort["at"].as_u64()?)))
            .filter(|(user, _)| left.contains_key(user))
            .collect();
        if seen.len() == left.len() || Instant::now() > deadline {
            return Ok(seen);
        }
    }
}

fn report(left: &BTreeMap<String, u64>, seen: &BTreeMap<String, u64>) -> Value {
    let delay = |(user, left): (&String, &u64)| {
        seen.get(user).map_or(LIMIT.as_secs_f64() * 1e3, |seen| seen.saturating_sub(*left) as f64 / 1e6)
    };
    let mut delays: Vec<f64> = left.iter().map(delay).collect();
    delays.sort_by(f64::total_cmp);
    json!({
        "left": left.len(),
        "seen": seen.len(),
        "delay_ms": {
            "p50": delays.get(delays.len() / 2),
            "max": delays.last(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_nobody_saw_leave_counts_with_the_limit() {
        let left = BTreeMap::from([("a".to_owned(), 1_000_000), ("b".to_owned(), 1_000_000)]);
        let seen = BTreeMap::from([("a".to_owned(), 3_000_000)]);
        let expected = json!({"left": 2, "seen": 1, "delay_ms": {"p50": 10_000.0, "max": 10_000.0}});
        assert_eq!(report(&left, &seen), expected);
    }
}
