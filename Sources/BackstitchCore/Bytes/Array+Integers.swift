extension FixedWidthInteger {
    /// The bytes, highest first: they sort as unsigned numbers do.
    package var bigEndianBytes: [UInt8] { littleEndianBytes.reversed() }

    /// The bytes, lowest first.
    package var littleEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }
}

extension [UInt8] {
    /// Reads an integer whose bytes stand highest first; traps if it does not lie within the array.
    package func bigEndian<Number: FixedWidthInteger>(
        _ type: Number.Type = Number.self, at offset: Int = 0
    ) -> Number {
        self[offset..<offset + Number.bitWidth / 8].reduce(0) { $0 << 8 | Number($1) }
    }

    /// Reads an integer whose bytes stand lowest first; traps if it does not lie within the array.
    package func littleEndian<Number: FixedWidthInteger>(
        _ type: Number.Type = Number.self, at offset: Int = 0
    ) -> Number {
        self[offset..<offset + Number.bitWidth / 8].reversed()
            .reduce(0) { $0 << 8 | Number($1) }
    }
}
