import Backstitch
import Foundation
import TestBudget
import Testing

@testable import BackstitchCLI
@testable import Terminal

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
        for columns in [0, 1, 20, 43, 50, 60, 200] {
            let fitting = Progress.line("Verifying", done: 1_500, total: 3_000, columns: columns)
            #expect(fitting.count <= columns)
            #expect(fitting.contains("50 %") == (columns >= 20))
            #expect(fitting.contains("[") == (columns >= 43))
        }
        let wide = Progress.line("Verifying", done: 1_500, total: 3_000, columns: 200)
        #expect(wide == line)
    }

    @Test func `a bar shows the time that is left where there is room`() {
        func line(_ left: Duration?, _ columns: Int? = nil) -> String {
            Progress.line("x", done: 1, total: 4, left: left, columns: columns)
        }
        #expect(line(nil).hasSuffix("1 of 4"))
        #expect(line(.milliseconds(20)).hasSuffix("1 of 4  1 s left"))
        #expect(line(.seconds(59)).hasSuffix("  59 s left"))
        #expect(line(.seconds(75)).hasSuffix("  1 min 15 s left"))
        #expect(line(.seconds(7_320)).hasSuffix("  2 h 2 min left"))
        for columns in 0..<80 { #expect(line(.seconds(75), columns).count <= columns) }
        #expect(line(.seconds(75), 30).contains("["))
        #expect(!line(.seconds(75), 30).contains("left"))
        #expect(line(.seconds(75), 60).contains("left"))
    }

    @Test func `the time that is left follows from the pace since the first update`() {
        var pace = Progress.Pace()
        // The last two are of a round that begins again.
        let updates = [(50, 9), (60, 10), (75, 14), (100, 19), (10, 20), (20, 21)]
        let left = updates.map { pace.timeLeft(done: $0.0, total: 100, at: .seconds($0.1)) }
        #expect(left == [nil, .seconds(4), .seconds(5), nil, nil, .seconds(8)])
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
