import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

/// The ordered map of a view.
@Suite(.budgeted) struct ViewTests {
    /// A view and one on either side of it, so that what leaks is seen.
    private func withView<Result: Sendable>(
        _ body: @escaping @Sendable (ViewEntries, ViewEntries) throws -> Result
    ) async throws -> Result {
        try await Store.inMemory(schema: .all).withLogWriter { context in
            let entries = (6...8 as ClosedRange<UInt16>).map { slot in
                ViewEntries(
                    access: context.access, database: context.databases.meta, slot: slot)
            }
            for view in [entries[0], entries[2]] {
                for key in [[], [0], [255, 255]] as [[UInt8]] {
                    try [9].withUnsafeBytes { try view.put($0, for: key) }
                }
            }
            return try body(entries[1], entries[2])
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `ranges, prefixes and both directions are those of a sorted list`(
        seed: UInt64
    ) async throws {
        try await withView { view, _ in
            var random = SeededGenerator(seed: seed)
            func key() -> [UInt8] {
                if Int.random(in: 0..<20, using: &random) == 0 {
                    let count = Int.random(in: 505...520, using: &random)
                    return [UInt8](repeating: [0, 255][count % 2], count: count)
                }
                return (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                    [0, 1, 254, 255].randomElement(using: &random) ?? 0
                }
            }
            var keys: Set<[UInt8]> = []
            for _ in 0..<40 {
                let key = key()
                guard key.count <= ViewKey.byteCountMax else { continue }
                keys.insert(key)
                try key.withUnsafeBytes { try view.put($0, for: key) }
            }
            let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
            for _ in 0..<100 {
                let lower = key()
                let upper = Bool.random(using: &random) ? key() : ViewKey(bytes: lower).end
                let expected = sorted.filter { key in
                    !key.lexicographicallyPrecedes(lower)
                        && upper.map { key.lexicographicallyPrecedes($0) } ?? true
                }
                for reversed in [false, true] {
                    var found: [[UInt8]] = []
                    try view.visit(from: lower, to: upper, reversed: reversed) { key, value in
                        #expect(key.holdsSameBytes(as: value))
                        found.append(Array(key))
                        return true
                    }
                    let wanted = reversed ? expected.reversed() : expected
                    #expect(found == wanted, "seed \(seed): \(lower), \(upper ?? [])")
                }
            }
        }
    }

    @Test func `a view is cleared in parts and leaves the others`() async throws {
        let counts = try await withView { view, other in
            for number in 0..<10 as Range<UInt8> {
                try [number].withUnsafeBytes { try view.put($0, for: [number]) }
            }
            #expect(try !view.clear(limit: 4))
            #expect(try view.count == 6)
            #expect(try view.clear(limit: 6))
            return (try view.count, try other.count)
        }
        #expect(counts == (0, 3))
    }

    @Test func `keys sort as their values`() {
        let values: [RecordValue] = [
            .null, .int64(.min), .int64(-1), .int64(0), .int64(7), .int64(.max),
        ]
        let keys = values.map { ViewKey($0, .string("x")) }
        #expect(keys == keys.sorted())
        let texts = ["", "a", "a\u{0}", "ab", "b", "é"].map { ViewKey(.string($0), .int64(-5)) }
        #expect(texts == texts.sorted())
        #expect(ViewKey(.string("e\u{301}")) == ViewKey(.string("\u{E9}")))
        var key = ViewKey(.bool(true))
        key.append(.int64(3))
        #expect(key == ViewKey(.bool(true), .int64(3)))
        #expect(key.bytes.starts(with: ViewKey(.bool(true)).bytes))
    }

    @Test func `a state is read as it was written, and other bytes are none`() {
        var state = ProjectionState(slot: 700, version: .max)
        state.checkpoint = 1 << 40
        state.clock = .max
        for bits in 0..<8 {
            state.isComplete = bits & 1 != 0
            state.isClearing = bits & 2 != 0
            state.failure = bits & 4 != 0 ? ProjectionFailure(sequence: 5, reason: "é") : nil
            var buffer = ByteBuffer()
            state.append(to: &buffer)
            #expect(ProjectionState(Array(buffer.bytes)) == state)
        }
        var buffer = ByteBuffer()
        state.append(to: &buffer)
        #expect(ProjectionState(Array(buffer.bytes.part(0..<23))) == nil)
        #expect(ProjectionState(Array(buffer.bytes.part(0..<30))) == nil)
        buffer.store(little: UInt8(2), at: 0)
        #expect(ProjectionState(Array(buffer.bytes)) == nil)
    }
}
