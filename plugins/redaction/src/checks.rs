//! What a regex cannot say of a candidate: check digits, country lengths, borders on the right, plausible grouping.
//!
//! Each check is given the candidate and the byte that follows it (`None` at the end of the text) and answers how many
//! of the candidate's bytes are the match, or `None` if it is none. Shorter and longer candidates are asked about
//! separately, so a refusal never hides another one.

use std::net::Ipv6Addr;

/// See the module.
pub(crate) type Check = fn(candidate: &str, next: Option<u8>) -> Option<usize>;

fn is_digit(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_digit())
}

fn is_alphanumeric(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// Whole if no digit follows.
pub(crate) fn no_digit_follows(candidate: &str, next: Option<u8>) -> Option<usize> {
    (!is_digit(next)).then_some(candidate.len())
}

/// The digits of a candidate, without what separates them.
fn digits(candidate: &str) -> impl DoubleEndedIterator<Item = u8> + Clone + '_ {
    candidate.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0')
}

/// A payment card: a known issuer range with one of its lengths, and the Luhn check digit (ISO/IEC 7812-1).
pub(crate) fn card(candidate: &str, next: Option<u8>) -> Option<usize> {
    let length = digits(candidate).count();
    let prefix = digits(candidate).take(4).fold(0, |number, digit| number * 10 + u32::from(digit));
    let valid = !is_digit(next) && issuer_allows(prefix, length) && luhn(candidate);
    valid.then_some(candidate.len())
}

/// Whether an issuer range with these first four digits has numbers of this length.
fn issuer_allows(prefix: u32, length: usize) -> bool {
    match prefix {
        // Visa.
        4000..=4999 => matches!(length, 13 | 16 | 19),
        // American Express.
        3400..=3499 | 3700..=3799 => length == 15,
        // Diners Club.
        3000..=3059 | 3095 | 3600..=3699 | 3800..=3999 => (14..=19).contains(&length),
        // JCB.
        3528..=3589 => (16..=19).contains(&length),
        // Mastercard; Mir.
        5100..=5599 | 2221..=2720 => length == 16,
        2200..=2204 => (16..=19).contains(&length),
        // Maestro.
        5000..=5099 | 5600..=5899 => (13..=19).contains(&length),
        // Discover, UnionPay, RuPay, Maestro.
        6000..=6999 => (13..=19).contains(&length),
        _ => false,
    }
}

fn luhn(candidate: &str) -> bool {
    let sum: u32 = digits(candidate)
        .rev()
        .enumerate()
        .map(|(place, digit)| match u32::from(digit) * if place % 2 == 1 { 2 } else { 1 } {
            large @ 10.. => large - 9,
            small => small,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// An IBAN whose country and length the pattern has settled: no letter or digit follows, and the check digits hold
/// (ISO 13616, modulo 97).
pub(crate) fn iban(candidate: &str, next: Option<u8>) -> Option<usize> {
    if is_alphanumeric(next) {
        return None;
    }
    let symbols: Vec<u8> = candidate.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let (head, body) = symbols.split_at_checked(4)?;
    let remainder = body.iter().chain(head).fold(0_u32, |rest, &symbol| match symbol {
        b'0'..=b'9' => (rest * 10 + u32::from(symbol - b'0')) % 97,
        _ => (rest * 100 + u32::from(symbol.to_ascii_uppercase() - b'A') + 10) % 97,
    });
    (remainder == 1).then_some(candidate.len())
}

/// An IPv4 address that is not part of a longer dotted number. The pattern lets one dot follow, so that what comes
/// after it can be seen.
pub(crate) fn ipv4(candidate: &str, next: Option<u8>) -> Option<usize> {
    match candidate.strip_suffix('.') {
        Some(address) => (!is_digit(next)).then_some(address.len()),
        None => (!is_alphanumeric(next) && next != Some(b'.')).then_some(candidate.len()),
    }
}

/// An IPv6 address as the standard library reads it. Short compressed forms that are more likely a slice or a path in
/// source code (`[1::2]`, `ab::cd`) are left alone; `::1` is an address.
pub(crate) fn ipv6(candidate: &str, next: Option<u8>) -> Option<usize> {
    if is_alphanumeric(next) {
        return None;
    }
    candidate.parse::<Ipv6Addr>().ok()?;
    let symbols = candidate.bytes().filter(u8::is_ascii_hexdigit).count();
    let groups = candidate.split(':').filter(|group| !group.is_empty()).count();
    let has_digit = candidate.bytes().any(|byte| byte.is_ascii_digit());
    let plausible = candidate == "::1" || (symbols >= 5 && (has_digit || groups >= 4));
    plausible.then_some(candidate.len())
}

/// A number with its country code: 8 to 15 digits (ITU-T E.164), none following.
pub(crate) fn phone_international(candidate: &str, next: Option<u8>) -> Option<usize> {
    let count = digits(candidate).count();
    let digits_wanted = if candidate.starts_with('+') { 8..=15 } else { 10..=17 };
    (!is_digit(next) && digits_wanted.contains(&count)).then_some(candidate.len())
}

/// A national number with its trunk `0`: 9 to 12 digits, in groups that are separated alike (the first separator may
/// differ, so that `0171/123 45 67` is one and `09/11/2001 12` is none), not part of a longer row of numbers. The
/// pattern lets one separator follow, so that what comes after it can be seen.
pub(crate) fn phone_national(candidate: &str, next: Option<u8>) -> Option<usize> {
    let number = candidate.trim_end_matches([' ', '.', '-']);
    let followed = if number.len() < candidate.len() {
        is_digit(next)
    } else {
        is_digit(next) || matches!(next, Some(b' ' | b'.' | b'-'))
    };
    let count = digits(number).count();
    (!followed && (9..=12).contains(&count) && separated_alike(number)).then_some(number.len())
}

fn separated_alike(number: &str) -> bool {
    let body = number
        .split_once(')')
        .map_or(number, |(_, body)| body.trim_start_matches(|symbol: char| !symbol.is_ascii_digit()));
    let mut separators = body.chars().filter(|symbol| !symbol.is_ascii_digit());
    let Some(first) = separators.next() else { return true };
    let Some(second) = separators.next() else { return true };
    (first == second || first == '/') && separators.all(|separator| separator == second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_have_an_issuer_a_length_and_a_check_digit() {
        for good in [
            "4111111111111111",
            "4111-1111 1111-1111",
            "378282246310005",
            "30569309025904",
            "6011111111111117",
            "2223003122003222",
        ] {
            assert_eq!(card(good, None), Some(good.len()), "{good}");
        }
        for bad in ["4111111111111112", "411111111111111", "1111111111111117", "0000000000000000"] {
            assert_eq!(card(bad, None), None, "{bad}");
        }
        assert_eq!(card("4111111111111111", Some(b'1')), None);
    }

    #[test]
    fn ibans_have_check_digits() {
        assert_eq!(iban("DE89 3704 0044 0532 0130 00", Some(b'.')), Some(27));
        assert_eq!(iban("GB82WEST12345698765432", None), Some(22));
        assert_eq!(iban("GB82WEST12345698765433", None), None);
        assert_eq!(iban("GB82WEST12345698765432", Some(b'1')), None);
    }

    #[test]
    fn addresses_are_not_part_of_longer_ones() {
        assert_eq!(ipv4("10.0.0.1", Some(b' ')), Some(8));
        assert_eq!(ipv4("10.0.0.1", Some(b'.')), None);
        assert_eq!(ipv4("10.0.0.1.", Some(b' ')), Some(8));
        assert_eq!(ipv4("10.0.0.1.", Some(b'7')), None);
        for good in
            ["2001:db8::1", "fe80::1", "::1", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8", "2001:0db8:85a3::8a2e:0370:7334"]
        {
            assert_eq!(ipv6(good, None), Some(good.len()), "{good}");
        }
        for bad in ["::", "1::2", "ab::cd", "dead::beef", "12:30:45", "1:2:3:4:5:6:7:8:9", "fe80::1::2"] {
            assert_eq!(ipv6(bad, None), None, "{bad}");
        }
    }

    #[test]
    fn national_numbers_are_grouped_like_numbers() {
        for good in
            ["06 12 34 56 78", "020 7946 0958", "0171/123 45 67", "(030) 123 45 67", "030-12345678", "0171/1234567"]
        {
            assert_eq!(phone_national(good, None), Some(good.len()), "{good}");
        }
        for bad in ["01/02/2026", "09/11/2001 12", "01.02.2026 12", "01 02 03", "0123456789 0123456789"] {
            assert_eq!(phone_national(bad, None), None, "{bad}");
        }
        assert_eq!(phone_national("06 12 34 56 78", Some(b' ')), None);
        assert_eq!(phone_national("06 12 34 56 78 ", Some(b'e')), Some(14));
        assert_eq!(phone_national("06 12 34 56 78 ", Some(b'9')), None);
    }
}
