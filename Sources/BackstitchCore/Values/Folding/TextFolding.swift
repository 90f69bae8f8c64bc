/// What of a text remains where case and accents don't count.
///
/// Each scalar of the canonical decomposition becomes its simple case folding, and nonspacing marks that are
/// accents go; marks that make another letter stay, such as the voicing of kana, vowel signs, nuktas
/// and viramas. So "Ángström" and "angstrom" are the same, and "が" and "か" are not. Letters with a stroke
/// and ligatures are letters of their own: "ø" is not "o", "ß" is not "ss".
///
/// The tables are this library's own, so that an index means the same on every machine. Another table has
/// another ``version``, by which stores know that they have to build their indexes again.
package enum TextFolding {
    /// The version of the tables: 1 is from Unicode 14.
    package static let version = 1

    /// What the scalars of a block of 256 become; most blocks have nothing to fold.
    private struct Table: Sendable {
        /// For each block the place of its cells; 0 for none.
        var blocks = [UInt16](repeating: 0, count: 0x1100)
        /// 0 for a scalar that stays, 1 for one that goes, else what it becomes.
        var cells: [UInt32] = Array(repeating: 0, count: 256)

        init() {
            let runs = TextFolding.runs
            for at in stride(from: 0, to: runs.count, by: 4) {
                let (first, target) = (runs[at], runs[at + 3])
                for scalar in stride(from: first, through: runs[at + 1], by: Int(runs[at + 2])) {
                    set(scalar, target == 0 ? 1 : target + (scalar - first))
                }
            }
        }

        private mutating func set(_ scalar: UInt32, _ cell: UInt32) {
            let block = Int(scalar >> 8)
            if blocks[block] == 0 {
                blocks[block] = UInt16(cells.count >> 8)
                cells += Array(repeating: 0, count: 256)
            }
            cells[Int(blocks[block]) << 8 | Int(scalar & 0xFF)] = cell
        }

        @inline(__always)
        func cell(_ scalar: UInt32) -> UInt32 {
            cells[Int(blocks[Int(scalar >> 8)]) << 8 | Int(scalar & 0xFF)]
        }
    }

    private static let table = Table()

    /// The text folded. Folding it once more changes nothing.
    ///
    /// - Complexity: O(*n*) in the text.
    package static func fold(_ text: String) -> String {
        var text = text
        return text.withUTF8 { utf8 in
            var output = ByteBuffer(capacity: utf8.count)
            unsafe fold(UnsafeRawBufferPointer(utf8), into: &output)
            return unsafe String(decoding: output.bytes, as: UTF8.self)
        }
    }

    /// Appends the folded form of a text in UTF-8.
    package static func fold(_ utf8: UnsafeRawBufferPointer, into output: inout ByteBuffer) {
        if unsafe utf8.isASCII {
            for at in 0..<utf8.count { unsafe output.append(lowered(utf8[at])) }
            return
        }
        let table = table
        for scalar in unsafe String(decoding: utf8, as: UTF8.self).unicodeScalars {
            if scalar.value < 0x80 {
                output.append(lowered(UInt8(scalar.value)))
                continue
            }
            switch table.cell(scalar.value) {
            case 0: append(scalar.value, to: &output)
            case 1: break
            case let cell: append(cell, to: &output)
            }
        }
    }

    @inline(__always)
    static func lowered(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    private static func append(_ value: UInt32, to output: inout ByteBuffer) {
        guard let scalar = Unicode.Scalar(value) else { return }
        for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { output.append(unit) }
    }
}
