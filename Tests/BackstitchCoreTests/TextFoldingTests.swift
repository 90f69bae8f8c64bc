import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct TextFoldingTests {
    @Test(arguments: [
        ("", ""), ("ABC xyz", "abc xyz"), ("Ångström", "angstrom"), ("A\u{30A}", "a"),
        ("É e\u{301} \u{1E17}", "e e e"), ("STRASSE", "strasse"), ("Straße ẞ", "straße ß"),
        ("Øre Łódź đ", "øre łodz đ"), ("ΆΈΣΑΣ ς", "αεσασ σ"), ("ЁЖЙ", "ежи"),
        ("İIıi", "iiıi"), ("K", "k"), ("ǅ", "ǆ"), ("Ǆ", "ǆ"), ("𐐀", "𐐨"),
        ("שָׁלוֹם", "שלום"), ("مُحَمَّد", "محمد"), ("한글", "한글"), ("👩‍👩‍👧", "👩‍👩‍👧"),
        ("\0A\0", "\0a\0"), ("ﬁ", "ﬁ"), ("ᾼ", "α"), ("Ⓐ", "ⓐ"),
    ])
    func `case and accents go, letters stay`(text: String, folded: String) {
        #expect(TextFolding.fold(text) == folded)
        #expect(TextFolding.fold(folded) == folded)
        #expect(TextFolding.fold(text.decomposedStringWithCanonicalMapping) == folded)
        #expect(TextFolding.fold(text.precomposedStringWithCanonicalMapping) == folded)
    }

    @Test func `marks that make another letter stay`() {
        #expect(TextFolding.fold("が") != TextFolding.fold("か"))
        #expect(TextFolding.fold("が") == "か\u{3099}")
        #expect(TextFolding.fold("कि") != TextFolding.fold("क"))
        #expect(TextFolding.fold("क्") != TextFolding.fold("क"))
        #expect(TextFolding.fold("ड़") != TextFolding.fold("ड"))
    }

    @Test func `folding is idempotent, and the same for texts that are the same`() {
        var wrong: [UInt32] = []
        let blocks: [ClosedRange<UInt32>] = [
            0...0x33FF, 0xA640...0xABFF, 0xF900...0xFFFF, 0x1_0400...0x1_0FFF,
            0x1_E900...0x1_E95F,
        ]
        for value in blocks.joined() {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = String(Character(scalar))
            let folded = TextFolding.fold(text)
            let isRight =
                TextFolding.fold(folded) == folded
                && TextFolding.fold(text.decomposedStringWithCanonicalMapping) == folded
                && TextFolding.fold(text.precomposedStringWithCanonicalMapping) == folded
            if !isRight { wrong.append(value) }
        }
        #expect(wrong == [])
    }

    @Test func `both ways of folding agree`() {
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<2_000 {
            var text = generator.text() + generator.text()
            let viaBuffer = text.withUTF8 { utf8 in
                var output = ByteBuffer()
                TextFolding.fold(UnsafeRawBufferPointer(utf8), into: &output)
                return String(decoding: output.bytes, as: UTF8.self)
            }
            #expect(viaBuffer == TextFolding.fold(text))
        }
    }
}
