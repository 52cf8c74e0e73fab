//! The little of HTTP/1.1 that the harness needs, strict about what it reads: a head or a chunk that is not well
//! formed is an error, because finding those is what it is for.

use bytes::{Buf, Bytes, BytesMut};
use std::io;
use std::ops::Range;

/// The most that a head or a chunk's size line may take before it is called malformed.
const LONGEST_HEAD: usize = 256 * 1024;
const LONGEST_SIZE_LINE: usize = 1024;

/// The head of a request or an answer.
#[derive(Clone, Debug)]
pub struct Head {
    /// As it came, the empty line included.
    pub bytes: Bytes,
    /// The request line or the status line.
    pub first_line: String,
    /// Name and value of each header, in the order and spelling in which they came.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// Takes a whole head off the front of `buffer`, or nothing while it is not all there.
    ///
    /// # Errors
    /// When what is there is no head.
    pub fn take(buffer: &mut BytesMut) -> io::Result<Option<Self>> {
        let Some(end) = memchr::memmem::find(buffer, b"\r\n\r\n") else {
            if buffer.len() > LONGEST_HEAD {
                return Err(malformed("a head without an end"));
            }
            return Ok(None);
        };
        let bytes = buffer.split_to(end + 4).freeze();
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| malformed("a head in no UTF-8"))?;
        let mut lines = text.split("\r\n");
        let first_line = lines.next().unwrap_or_default().to_owned();
        let headers = lines.map(header).collect::<io::Result<_>>()?;
        Ok(Some(Self { bytes, first_line, headers }))
    }

    /// The value of the first header `name`, in whatever case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// How the body is delimited that follows, when the head says so: chunked, or by a length.
    ///
    /// # Errors
    /// When the length is no number.
    pub fn framing(&self) -> io::Result<Option<Framing>> {
        if let Some(coding) = self.header("transfer-encoding") {
            if !coding.eq_ignore_ascii_case("chunked") {
                return Err(malformed("a transfer coding other than chunked"));
            }
            return Ok(Some(Framing::Chunked(Dechunker::default())));
        }
        let Some(length) = self.header("content-length") else {
            return Ok(None);
        };
        let length = length.parse().map_err(|_| malformed("a length that is no number"))?;
        Ok(Some(Framing::Length(length)))
    }
}

/// The value of the first header `name` among `headers`, in whatever case.
pub(crate) fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

fn header(line: &str) -> io::Result<(String, String)> {
    let (name, value) = line.split_once(':').ok_or_else(|| malformed("a header line without a colon"))?;
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// How a body is delimited.
#[derive(Debug)]
pub enum Framing {
    /// In chunks, the last of which is empty.
    Chunked(Dechunker),
    /// So many bytes are still to come.
    Length(u64),
    /// By the end of the connection.
    UntilClose,
}

/// What stands at the front of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing whole yet.
    Incomplete,
    /// Payload; never parts of two chunks in one.
    Data(Bytes),
    /// The body is over.
    End,
}

impl Framing {
    /// Takes the next part of the body off the front of `buffer`.
    ///
    /// # Errors
    /// When a chunk is malformed.
    pub fn next(&mut self, buffer: &mut BytesMut) -> io::Result<Part> {
        match self {
            Self::Chunked(dechunker) => next_chunk(dechunker, buffer),
            Self::Length(0) => Ok(Part::End),
            Self::Length(_) | Self::UntilClose if buffer.is_empty() => Ok(Part::Incomplete),
            Self::Length(left) => {
                let take = usize::try_from(*left).map_or(buffer.len(), |left| left.min(buffer.len()));
                *left -= take as u64;
                Ok(Part::Data(buffer.split_to(take).freeze()))
            }
            Self::UntilClose => Ok(Part::Data(buffer.split().freeze())),
        }
    }

    /// Whether the end of the connection is a proper end of this body.
    #[must_use]
    pub fn ends_at_close(&self) -> bool {
        matches!(self, Self::UntilClose)
    }
}

fn next_chunk(dechunker: &mut Dechunker, buffer: &mut BytesMut) -> io::Result<Part> {
    loop {
        let (taken, decoded) = dechunker.step(buffer)?;
        let part = match decoded {
            Decoded::Incomplete => Some(Part::Incomplete),
            Decoded::Nothing => None,
            Decoded::Payload(range) => Some(Part::Data(Bytes::copy_from_slice(&buffer[range]))),
            Decoded::Finished => Some(Part::End),
        };
        buffer.advance(taken);
        if let Some(part) = part {
            return Ok(part);
        }
    }
}

/// Takes the chunked coding off a body, piece by piece and without copying.
#[derive(Debug, Default)]
pub struct Dechunker(Place);

/// Where in the coding the next byte stands.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Size,
    Data(usize),
    DataEnd,
    Trailer,
    After,
}

/// What [`Dechunker::step`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded {
    /// More input is needed.
    Incomplete,
    /// A piece of the coding itself.
    Nothing,
    /// Payload: this range of the input.
    Payload(Range<usize>),
    /// The last chunk and its trailer are over.
    Finished,
}

impl Dechunker {
    /// Looks at the front of `input`: how many bytes of it are done with, and what they were.
    ///
    /// # Errors
    /// When a size line, the end of a chunk or a trailer is malformed.
    pub fn step(&mut self, input: &[u8]) -> io::Result<(usize, Decoded)> {
        match self.0 {
            Place::Size => self.size(input),
            Place::Data(_) if input.is_empty() => Ok((0, Decoded::Incomplete)),
            Place::Data(left) => {
                let take = left.min(input.len());
                self.0 = if take == left { Place::DataEnd } else { Place::Data(left - take) };
                Ok((take, Decoded::Payload(0..take)))
            }
            Place::DataEnd => match input {
                [b'\r', b'\n', ..] => {
                    self.0 = Place::Size;
                    Ok((2, Decoded::Nothing))
                }
                [] | [b'\r'] => Ok((0, Decoded::Incomplete)),
                _ => Err(malformed("a chunk that is longer than its size")),
            },
            Place::Trailer => self.trailer(input),
            Place::After => Ok((0, Decoded::Finished)),
        }
    }

    fn size(&mut self, input: &[u8]) -> io::Result<(usize, Decoded)> {
        let Some(line) = line(input)? else {
            return Ok((0, Decoded::Incomplete));
        };
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
        let size = std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| usize::from_str_radix(digits.trim(), 16).ok())
            .ok_or_else(|| malformed("a chunk size that is no number"))?;
        self.0 = if size == 0 { Place::Trailer } else { Place::Data(size) };
        Ok((line.len() + 2, Decoded::Nothing))
    }

    fn trailer(&mut self, input: &[u8]) -> io::Result<(usize, Decoded)> {
        let Some(line) = line(input)? else {
            return Ok((0, Decoded::Incomplete));
        };
        if !line.is_empty() {
            return Ok((line.len() + 2, Decoded::Nothing));
        }
        self.0 = Place::After;
        Ok((2, Decoded::Finished))
    }
}

/// The line at the front of `input` without its ending, once it is whole.
fn line(input: &[u8]) -> io::Result<Option<&[u8]>> {
    match memchr::memchr(b'\n', input) {
        Some(end) if end > 0 && input[end - 1] == b'\r' => Ok(Some(&input[..end - 1])),
        Some(_) => Err(malformed("a line of the chunked coding that does not end in CRLF")),
        None if input.len() > LONGEST_SIZE_LINE => Err(malformed("a chunk without a size line")),
        None => Ok(None),
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed HTTP: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> io::Result<(Vec<Bytes>, bool)> {
        let mut framing = Framing::Chunked(Dechunker::default());
        let mut buffer = BytesMut::new();
        let mut found = Vec::new();
        for piece in pieces {
            buffer.extend_from_slice(piece);
            loop {
                match framing.next(&mut buffer)? {
                    Part::Incomplete => break,
                    Part::Data(bytes) => found.push(bytes),
                    Part::End => return Ok((found, true)),
                }
            }
        }
        Ok((found, false))
    }

    #[test]
    fn chunks_stay_apart_and_may_be_cut_anywhere() {
        let body = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\ntrailer: 1\r\n\r\n";
        let (found, ended) = decode(&[body]).unwrap();
        assert_eq!(found, ["abc", "de"]);
        assert!(ended);
        for cut in 1..body.len() {
            let (found, ended) = decode(&[&body[..cut], &body[cut..]]).unwrap();
            assert_eq!(found.concat(), b"abcde", "cut at {cut}");
            assert!(ended, "cut at {cut}");
        }
    }

    #[test]
    fn a_body_without_its_last_chunk_does_not_end() {
        assert!(!decode(&[b"3\r\nabc\r\n"]).unwrap().1);
        assert!(!decode(&[b"3\r\nabc\r\n0\r\n"]).unwrap().1);
    }

    #[test]
    fn malformed_chunks_are_errors() {
        for body in [&b"xyz\r\nabc\r\n"[..], b"3\r\nabcd\r\n", b"3\nabc\r\n", b"-3\r\nabc\r\n"] {
            assert!(decode(&[body]).is_err(), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn a_head_is_taken_whole_or_not_at_all() {
        let whole = "POST /v1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n";
        let mut buffer = BytesMut::from(&whole[..whole.len() - 1]);
        assert!(Head::take(&mut buffer).unwrap().is_none());
        buffer.extend_from_slice(b"\nok");
        let head = Head::take(&mut buffer).unwrap().unwrap();
        assert_eq!(head.first_line, "POST /v1 HTTP/1.1");
        assert_eq!(head.header("HOST"), Some("a"));
        assert!(matches!(head.framing().unwrap(), Some(Framing::Length(2))));
        assert_eq!(buffer, "ok");
    }
}
