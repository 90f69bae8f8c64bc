import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct RelatedRowsTests {
    private func known(_ rows: borrowing RelatedRows, _ entity: UInt16, _ key: String) -> String? {
        Array(key.utf8).withUnsafeBytes { key in
            switch rows.known(of: EntityNumber(entity), key) {
            case .nothing: nil
            case .absent: "absent"
            case .row(let bytes): String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    private func keep(
        _ body: String?, _ rows: inout RelatedRows, _ entity: UInt16, _ key: String
    ) {
        Array(key.utf8).withUnsafeBytes { key in
            let body = body.map { Array($0.utf8) }
            if let body {
                body.withUnsafeBytes { rows.keep($0, of: EntityNumber(entity), key) }
            } else {
                rows.keep(nil, of: EntityNumber(entity), key)
            }
        }
    }

    @Test func `it knows what it was given, of each entity apart`() {
        var rows = RelatedRows()
        #expect(known(rows, 1, "a") == nil)
        for number in 0..<5_000 { keep("row \(number)", &rows, 1, "key \(number)") }
        keep(nil, &rows, 2, "key 7")
        for number in 0..<5_000 { #expect(known(rows, 1, "key \(number)") == "row \(number)") }
        #expect(known(rows, 2, "key 7") == "absent")
        #expect(known(rows, 2, "key 8") == nil)
        #expect(known(rows, 1, "key 5000") == nil)
    }

    @Test func `bytes stay where they are while more is kept`() {
        var rows = RelatedRows()
        keep("first", &rows, 1, "a")
        let place = Array("a".utf8).withUnsafeBytes { key in
            let known = rows.known(of: EntityNumber(1), key)
            return if case .row(let bytes) = known { bytes } else { key }
        }
        for number in 0..<5_000 { keep("row \(number)", &rows, 1, "key \(number)") }
        #expect(String(decoding: place, as: UTF8.self) == "first")
    }

    @Test func `what does not fit is not kept`() {
        var rows = RelatedRows()
        let large = String(repeating: "x", count: RelatedRows.byteCountMax / 4)
        for number in 0..<6 { keep(large, &rows, 1, "\(number)") }
        #expect((0..<6).filter { known(rows, 1, "\($0)") != nil } == [0, 1, 2])
        keep("small", &rows, 1, "s")
        #expect(known(rows, 1, "s") == "small")
    }
}
