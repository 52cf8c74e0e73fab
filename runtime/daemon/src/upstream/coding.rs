//! Content codings: a provider's compressed body, decoded as it comes, so that an event leaves when its bytes are there.
//!
//! seamd asks for none; some providers compress nevertheless, and some of those do not say so.

use std::io::{self, Write};

use bytes::{Buf, Bytes};
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::header::{CONTENT_ENCODING, HeaderMap};

/// How much is decoded at a time: a slice of this length comes to a mebibyte or so where the data was made to swell.
const SLICE: usize = 1024;

/// How much decoded data is gathered before it is handed on.
const ENOUGH: usize = 32 * 1024;

/// What gzip begins with (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

/// A content coding (RFC 9110, 8.4.1; br: RFC 7932, zstd: RFC 8878).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Decodes one body. Data comes out in the order in which it went in.
pub(super) struct Decoding {
    state: State,
    /// What was read and is not decoded yet.
    pending: Bytes,
}

enum State {
    /// Nothing has come: the first bytes tell.
    Unseen,
    /// The body is not compressed.
    Plain,
    Coded(Box<Decoder>),
}

enum Decoder {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Decoder<'static, Vec<u8>>),
}

/// A coding, or several of them, that can't be decoded: what the header says.
pub(super) struct UnknownCoding(pub(super) String);

impl Decoding {
    /// The decoding of a body under these headers.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, UnknownCoding> {
        let values = headers.get_all(CONTENT_ENCODING).iter();
        let said: Vec<String> = values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
        let names = said.iter().flat_map(|value| value.split(',')).map(str::trim);
        let names: Vec<&str> =
            names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity")).collect();
        let unknown = || UnknownCoding(said.join(", "));
        let state = match names.as_slice() {
            [] => State::Unseen,
            [name] => State::of(Coding::named(name).ok_or_else(unknown)?).map_err(|_| unknown())?,
            _ => return Err(unknown()),
        };
        Ok(Self { state, pending: Bytes::new() })
    }

    /// Takes the next read. To be called when [`next`](Self::next) has nothing left.
    pub(super) fn feed(&mut self, read: Bytes) -> io::Result<()> {
        if matches!(self.state, State::Unseen) && !read.is_empty() {
            // One byte alone is too little to tell; no text and no JSON begins with it.
            let is_gzip = read.starts_with(&GZIP_MAGIC[..read.len().min(2)]);
            self.state = if is_gzip { State::of(Coding::Gzip)? } else { State::Plain };
        }
        self.pending = read;
        Ok(())
    }

    /// The next decoded bytes of what was fed, or `None` when all of it is decoded.
    pub(super) fn next(&mut self) -> io::Result<Option<Bytes>> {
        let State::Coded(decoder) = &mut self.state else {
            let plain = std::mem::take(&mut self.pending);
            return Ok((!plain.is_empty()).then_some(plain));
        };
        while !self.pending.is_empty() && decoder.decoded().len() < ENOUGH {
            let slice = self.pending.slice(..self.pending.len().min(SLICE));
            self.pending.advance(slice.len());
            decoder.write(&slice)?;
        }
        let decoded = std::mem::take(decoder.decoded());
        Ok((!decoded.is_empty()).then(|| decoded.into()))
    }

    /// The body has come to its end: what is still to come out, or why it is not whole.
    pub(super) fn finish(&mut self) -> io::Result<Option<Bytes>> {
        let State::Coded(decoder) = &mut self.state else { return Ok(None) };
        decoder.finish()?;
        let decoded = std::mem::take(decoder.decoded());
        self.state = State::Plain;
        Ok((!decoded.is_empty()).then(|| decoded.into()))
    }
}

impl State {
    fn of(coding: Coding) -> io::Result<Self> {
        Ok(Self::Coded(Box::new(match coding {
            Coding::Gzip => Decoder::Gzip(MultiGzDecoder::new(Vec::new())),
            Coding::Deflate => Decoder::Deflate(ZlibDecoder::new(Vec::new())),
            Coding::Brotli => {
                Decoder::Brotli(Box::new(brotli_decompressor::DecompressorWriter::new(Vec::new(), ENOUGH)))
            }
            Coding::Zstd => Decoder::Zstd(zstd::stream::write::Decoder::new(Vec::new())?),
        })))
    }
}

impl Decoder {
    fn decoded(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
        }
    }

    /// Decodes what can be: flushed, so that nothing waits inside.
    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let writer: &mut dyn Write = match self {
            Self::Gzip(decoder) => decoder,
            Self::Deflate(decoder) => decoder,
            Self::Brotli(decoder) => decoder,
            Self::Zstd(decoder) => decoder,
        };
        writer.write_all(data)?;
        writer.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Deflate(decoder) => decoder.try_finish(),
            Self::Brotli(decoder) => decoder.close(),
            Self::Zstd(decoder) => decoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const TEXT: &[u8] = b"data: one\n\ndata: two\n\n";

    fn headers(coding: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(coding))])
    }

    /// The first event flushed, then the second: as a provider sends them.
    fn gzip() -> (Vec<u8>, Vec<u8>) {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&TEXT[..11]).unwrap();
        encoder.flush().unwrap();
        let first = encoder.get_ref().clone();
        encoder.write_all(&TEXT[11..]).unwrap();
        let whole = encoder.finish().unwrap();
        (first.clone(), whole[first.len()..].to_vec())
    }

    fn decode(decoding: &mut Decoding, read: &[u8]) -> io::Result<Vec<u8>> {
        decoding.feed(Bytes::copy_from_slice(read))?;
        let mut out = Vec::new();
        while let Some(data) = decoding.next()? {
            out.extend_from_slice(&data);
        }
        Ok(out)
    }

    fn decode_whole(headers: &HeaderMap, body: &[u8], size: usize) -> io::Result<Vec<u8>> {
        let mut decoding = Decoding::of(headers).map_err(|_| io::Error::other("unknown"))?;
        let mut out = Vec::new();
        for read in body.chunks(size) {
            out.extend(decode(&mut decoding, read)?);
        }
        out.extend(decoding.finish()?.unwrap_or_default());
        Ok(out)
    }

    #[test]
    fn an_event_comes_out_when_its_bytes_have_come() {
        let (first, rest) = gzip();
        let mut decoding = Decoding::of(&headers("gzip")).ok().unwrap();
        assert_eq!(decode(&mut decoding, &first).unwrap(), &TEXT[..11]);
        assert_eq!(decode(&mut decoding, &rest).unwrap(), &TEXT[11..]);
        assert!(decoding.finish().unwrap().is_none());
    }

    #[test]
    fn every_coding_is_decoded_at_every_size_of_read() {
        let (first, rest) = gzip();
        let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        deflate.write_all(TEXT).unwrap();
        // The text as it is, in a block that is not compressed (RFC 7932, 9.2).
        let brotli = [&[0x8B, 0x0A, 0x80][..], TEXT, &[0x03]].concat();
        let bodies = [
            ("gzip", [first, rest].concat()),
            ("deflate", deflate.finish().unwrap()),
            ("br", brotli),
            ("zstd", zstd::encode_all(TEXT, 1).unwrap()),
            ("identity", TEXT.to_vec()),
        ];
        for (coding, body) in bodies {
            for size in [1, 2, 7, body.len()] {
                assert_eq!(decode_whole(&headers(coding), &body, size).unwrap(), TEXT, "{coding} by {size}");
            }
        }
    }

    #[test]
    fn gzip_that_no_header_announces_is_decoded() {
        let (first, rest) = gzip();
        assert_eq!(decode_whole(&HeaderMap::new(), &[first, rest].concat(), 4096).unwrap(), TEXT);
        assert_eq!(decode_whole(&HeaderMap::new(), TEXT, 4096).unwrap(), TEXT);
    }

    #[test]
    fn what_is_cut_or_corrupt_is_an_error() {
        let (first, rest) = gzip();
        assert!(decode_whole(&headers("gzip"), &first, 4096).is_err());
        assert!(decode_whole(&headers("gzip"), b"data: plain\n\n", 4096).is_err());
        assert!(decode_whole(&headers("zstd"), &rest, 4096).is_err());
        assert!(decode_whole(&headers("br"), &[0xFF; 64], 4096).is_err());
    }

    #[test]
    fn what_swells_is_handed_on_in_pieces() {
        let zeros = zstd::encode_all(&vec![0; 64 << 20][..], 1).unwrap();
        let mut decoding = Decoding::of(&headers("zstd")).ok().unwrap();
        decoding.feed(zeros.into()).unwrap();
        let (mut longest, mut total) = (0, 0);
        while let Some(data) = decoding.next().unwrap() {
            longest = longest.max(data.len());
            total += data.len();
        }
        assert_eq!(total, 64 << 20);
        assert!(longest < 40 << 20, "{longest}");
    }

    #[test]
    fn codings_that_nobody_knows_and_several_at_once_are_refused() {
        for coding in ["compress", "gzip, br", "zstd,zstd"] {
            assert!(Decoding::of(&headers(coding)).is_err(), "{coding}");
        }
        let mut twice = headers("identity");
        twice.append(CONTENT_ENCODING, HeaderValue::from_static("snappy"));
        assert!(Decoding::of(&twice).is_err_and(|unknown| unknown.0 == "identity, snappy"));
    }
}
