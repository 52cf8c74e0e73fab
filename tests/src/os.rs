//! The system calls that the standard library has no words for. The crate's only unsafe code.
#![expect(unsafe_code, reason = "each block is one call into libc with arguments that are checked just before it")]

use std::io;

/// What a process can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: end in order.
    Terminate,
    /// SIGHUP: read the configuration again.
    Hangup,
    /// SIGINT: end, asked for at a terminal.
    Interrupt,
    /// SIGKILL: end now.
    Kill,
}

impl Signal {
    fn number(self) -> libc::c_int {
        match self {
            Self::Terminate => libc::SIGTERM,
            Self::Hangup => libc::SIGHUP,
            Self::Interrupt => libc::SIGINT,
            Self::Kill => libc::SIGKILL,
        }
    }
}

/// Sends `signal` to the one process `pid`.
///
/// # Errors
/// When there is no such process, it is not ours, or `pid` is 0 or no process id at all.
pub fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = one_process(pid)?;
    // SAFETY: `kill` takes two numbers and touches no memory of ours; `pid` is positive, so it names one process
    // and never a group.
    check(unsafe { libc::kill(pid, signal.number()) })
}

/// The monotonic clock of this machine in nanoseconds: the same for every process on it, so that a stamp from the
/// provider can be compared with the client's own.
#[must_use]
pub fn monotonic_nanos() -> u64 {
    clock_nanos(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Raises the soft limit of open files of this process (and so of its children) to `wanted`, or to the hard limit
/// where that is lower. Never lowers it. Returns the limit that now holds.
///
/// # Errors
/// When the limit cannot be read or set.
pub fn raise_open_files_limit(wanted: u64) -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live, writable `rlimit`, which the call fills.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = wanted.min(limit.rlim_max).max(limit.rlim_cur);
    // SAFETY: `limit` is a live `rlimit`, which the call reads.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    Ok(limit.rlim_cur)
}

fn one_process(pid: u32) -> io::Result<libc::pid_t> {
    libc::pid_t::try_from(pid)
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not the id of one process"))
}

fn clock_nanos(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable `timespec`, which the call fills; an unknown clock is an error, not a fault.
    check(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Ok(seconds * 1_000_000_000 + nanos)
}

fn check(answer: libc::c_int) -> io::Result<()> {
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(target_os = "linux")]
pub use linux::{IntervalTimer, process_cpu_nanos};

#[cfg(target_os = "linux")]
mod linux {
    use super::{check, clock_nanos, one_process};
    use std::io::{self, Read};
    use std::os::fd::FromRawFd;
    use std::time::Duration;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// The processor time that all threads of `pid` have used, ended ones included, in nanoseconds. Finer than
    /// `/proc/PID/stat`, which counts in steps of ten milliseconds.
    ///
    /// # Errors
    /// When there is no such process.
    pub fn process_cpu_nanos(pid: u32) -> io::Result<u64> {
        let pid = one_process(pid)?;
        let mut clock: libc::clockid_t = 0;
        // SAFETY: `clock` is a live, writable `clockid_t`, which the call fills.
        let code = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code));
        }
        clock_nanos(clock)
    }

    /// A timer of the kernel. The runtime's own timers know milliseconds only, so that a hundred paced streams
    /// would all fire in the same moment.
    #[derive(Debug)]
    pub struct IntervalTimer(AsyncFd<std::fs::File>);

    impl IntervalTimer {
        /// A timer that fires after `first`, then each `period`. Zero for either is taken as one nanosecond.
        ///
        /// # Errors
        /// When the process has too many files open. Outside a runtime it panics, as all of tokio's files do.
        pub fn new(first: Duration, period: Duration) -> io::Result<Self> {
            // SAFETY: the call takes two numbers and touches no memory of ours.
            let descriptor =
                unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
            check(descriptor)?;
            // SAFETY: the descriptor was opened just now and is owned by nobody else.
            let file = unsafe { std::fs::File::from_raw_fd(descriptor) };
            let setting = libc::itimerspec { it_interval: timespec(period), it_value: timespec(first) };
            // SAFETY: `setting` is a live `itimerspec`, which the call reads; the old setting is not asked for.
            check(unsafe { libc::timerfd_settime(descriptor, 0, &raw const setting, std::ptr::null_mut()) })?;
            // SAFETY: the file owns its descriptor, which nothing closes or replaces while the registration has it.
            let registered = unsafe { AsyncFd::register_with_interest(file, Interest::READABLE) };
            Ok(Self(registered?))
        }

        /// Waits until the timer has fired; answers how often it did since the last call.
        ///
        /// # Errors
        /// When the runtime is being shut down.
        pub async fn fired(&self) -> io::Result<u64> {
            loop {
                let mut guard = self.0.readable().await?;
                let mut count = [0; 8];
                let outcome = guard.try_io(|timer| timer.get_ref().read(&mut count));
                if let Ok(read) = outcome {
                    read?;
                    return Ok(u64::from_ne_bytes(count));
                }
            }
        }
    }

    fn timespec(duration: Duration) -> libc::timespec {
        let duration = duration.max(Duration::from_nanos(1));
        libc::timespec {
            tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(duration.subsec_nanos() as i32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signal_goes_to_a_group_of_processes() {
        assert!(signal(0, Signal::Hangup).is_err());
        assert!(signal(u32::MAX, Signal::Hangup).is_err());
    }

    #[test]
    fn the_limit_of_open_files_is_never_lowered() {
        let before = raise_open_files_limit(0).unwrap();
        assert_eq!(raise_open_files_limit(1).unwrap(), before);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processor_time_grows_with_work() {
        let me = std::process::id();
        let before = process_cpu_nanos(me).unwrap();
        let mut sum = 0_u64;
        while process_cpu_nanos(me).unwrap() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(process_cpu_nanos(me).unwrap() > before);
    }
}
