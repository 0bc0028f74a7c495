//! CSV, Parquet and Arrow files: any bytes are recordings or an error.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::{fixture, recordings_are_read_or_refused};

#[test]
fn csv_files_are_read_or_refused() {
    let files = [
        "date,\"time\",x,y\n2020-01-01,0,1.5,-2\n2020-01-02,0.1,0.25,3e-2\n2020-01-03,0.2,1,0\n",
        "t;x;y\r\n0;1;2\r\n1;3;4\r\n\r\n",
        "1\n2\n-3.5e-1\n",
        "1\t2\n3\t4\n",
    ];
    recordings_are_read_or_refused("csv", &files.map(|text| text.as_bytes().to_vec()));
}

/// Three columns of 32 values, in two row groups.
fn parquet(compression: Compression) -> Vec<u8> {
    let schema = "message rows { REQUIRED DOUBLE z; REQUIRED FLOAT x; OPTIONAL INT32 y; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, properties).unwrap();
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        while let Some(mut column) = group.next_column().unwrap() {
            let written = match column.untyped() {
                ColumnWriter::DoubleColumnWriter(writer) => {
                    writer.write_batch(&(0..16).map(f64::from).collect::<Vec<_>>(), None, None)
                }
                ColumnWriter::FloatColumnWriter(writer) => writer.write_batch(&[0.5; 16], None, None),
                ColumnWriter::Int32ColumnWriter(writer) => {
                    writer.write_batch(&(0..16).collect::<Vec<_>>(), Some(&[1; 16]), None)
                }
                _ => unreachable!("the schema has no other columns"),
            };
            written.unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    file
}

#[test]
fn parquet_files_are_read_or_refused() {
    let files = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())];
    recordings_are_read_or_refused("parquet", &files.map(parquet));
}

#[test]
fn arrow_files_and_streams_are_read_or_refused() {
    recordings_are_read_or_refused("arrow", &["table.feather", "stream.arrow"].map(fixture));
}
