import Backstitch
import Foundation
import Terminal
import TestBudget
import Testing

@testable import BackstitchCLI

@Suite(.budgeted) struct TextTests {
    @Test func `control characters of stored text don't reach the terminal`() {
        #expect("a\u{1B}[31m\nb\u{202E}".printable == "a\\u{1B}[31m\\nb\\u{202E}")
        #expect("Grüße, 世界".printable == "Grüße, 世界")
    }

    @Test func `numbers and sizes are readable`() {
        #expect(1_234_567.grouped == "1,234,567")
        #expect((-999).grouped == "-999")
        #expect(1.counted("entry", "entries") == "1 entry")
        #expect(1_000.counted("record") == "1,000 records")
        #expect(512.asBytes == "512 bytes")
        #expect((1 << 20).asBytes == "1.0 MiB")
    }

    @Test func `columns are as wide as their widest cell`() {
        #expect(
            Table.lines([["a", "1", "x"], ["bcd", "10", "yy"]], indent: 1, rightAligned: [1])
                == [" a     1  x", " bcd  10  yy"])
        #expect(Table.lines([]) == [])
    }

    @Test func `a bar shows the share that is done`() {
        let line = Progress.line("Verifying", done: 1_500, total: 3_000)
        #expect(line == "Verifying [###############...............] 50 %  1,500 of 3,000")
        #expect(Progress.line("x", done: 9, total: 3).contains("100 %"))
    }

    @Test func `a bar shows nothing where nobody looks`() {
        let pipe = Pipe()
        let output = Output(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let progress = Progress("Verifying", output: output, isShown: false)
        progress.update(done: 1, total: 2)
        progress.finish()
        output.flush()
        pipe.fileHandleForWriting.closeFile()
        #expect(pipe.fileHandleForReading.readDataToEndOfFile().isEmpty)
    }

    @Test func `values are shown by their type`() {
        #expect(LogLines.text(nil) == "none")
        #expect(LogLines.text(.string("a\"b")) == "\"a\"b\"")
        #expect(LogLines.text(.bytes(Data(count: 3))) == "<3 bytes>")
        #expect(LogLines.text(.date(milliseconds: 1_700_000_000_123)) == "2023-11-14T22:13:20.123Z")
        #expect(LogLines.text(.reference(RecordKey(.text("ada")))) == "-> ada")
        #expect(LogLines.text(.list([.int64(1), .bool(true)])) == "[1, true]")
        #expect(LogLines.text(.string(String(repeating: "x", count: 500))).count < 130)
    }
}
