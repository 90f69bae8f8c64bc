import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct OperationCodingTests {
    private static let fields: Fields = [
        FieldID(1): .string("one"), FieldID(2): .reference(RecordKey(.text("r"))),
        FieldID(3): .int64(3),
    ]
    private static let report = ConflictReport(
        policy: .clientWins, base: nil, local: fields, server: [:], outcome: fields)

    static func encoded(
        _ kind: OperationKind, stamp: SyncStamp? = nil, conflict: ConflictReport? = nil,
        context: String = "", sequence: UInt64 = 9
    ) throws -> [UInt8] {
        var output = ByteBuffer()
        try OperationEncoder.begin(
            OperationHeader(
                kind: kind, origin: .remote, flags: .isUnreadable, entity: EntityNumber(7),
                transaction: 8, clock: 77, previous: 3, key: RecordKey(.text("key"), zone: 1),
                author: "me", context: context),
            stamp: stamp, conflict: conflict, into: &output)
        var writer = _FieldWriter()
        if kind.changesContent { try fields.write(to: &writer) }
        if kind == .update {
            let at = output.count
            output.append(little: UInt32(0))
            writer.finish(into: &output)
            output.store(little: UInt32(output.count - at - 4), at: at)
            writer.reset()
            try writer.write(.null, of: FieldID(1), keepsNull: true)
        }
        if kind == .baseline {
            output.append(little: UInt32(0))
            RowHeader(lastSequence: sequence, changeTag: "tag").appendUnchecked(to: &output)
        }
        if kind.changesContent { writer.finish(into: &output) }
        if kind == .park { output.append(utf8: "because") }
        OperationEncoder.end(sequence: sequence, into: &output)
        return Array(output.bytes)
    }

    @Test(arguments: OperationKind.allCases, [false, true])
    func `every kind comes back`(kind: OperationKind, isFull: Bool) throws {
        let stamp = SyncStamp(
            changeTag: "tag", modifiedMilliseconds: -5, acknowledgedThrough: .max)
        let bytes = try Self.encoded(
            kind, stamp: isFull ? stamp : nil, conflict: isFull ? Self.report : nil,
            context: isFull ? "because" : "")
        try bytes.withUnsafeBytes { raw in
            let view = try OperationView(raw, sequence: 9)
            #expect(view.kind == kind)
            #expect(view.context == (isFull ? "because" : ""))
            #expect(view.origin == .remote)
            #expect(view.flags.contains(.isUnreadable))
            #expect(view.entity == EntityNumber(7))
            #expect(view.transaction == 8)
            #expect(view.clock == 77)
            #expect(view.previous == 3)
            #expect(try view.key == RecordKey(.text("key"), zone: 1))
            #expect(view.author == "me")
            #expect(view.stamp == (isFull ? stamp : nil))
            #expect(
                try view.conflictBytes.map { try ConflictReport(reading: $0) }
                    == (isFull ? Self.report : nil))
            if kind == .park { #expect(view.parkReason == "because") }
            guard kind.changesContent else { return }
            let change: OperationStep.Change =
                switch kind {
                case .insert, .baseline: .insert(Self.fields)
                case .update: .update(before: Self.fields, after: [FieldID(1): .null])
                default: .delete(before: Self.fields)
                }
            #expect(
                try OperationStep(view)
                    == OperationStep(sequence: 9, clock: 77, change: change, origin: .remote))
        }
    }

    @Test func `an operation of another place in the log is not taken for this one`() throws {
        let bytes = try Self.encoded(.insert, sequence: 9)
        _ = bytes.withUnsafeBytes { raw in
            #expect(throws: OperationDamage.checksum) { _ = try OperationView(raw, sequence: 10) }
        }
    }

    @Test func `a newer format is told from damage`() throws {
        var bytes = try Self.encoded(.insert)
        bytes[0] = 2
        _ = bytes.withUnsafeBytes { raw in
            #expect(throws: OperationDamage.newerFormat(2)) {
                _ = try OperationView(raw, sequence: 9)
            }
        }
    }

    @Test(arguments: OperationKind.allCases)
    func `damage at every offset is found`(kind: OperationKind) throws {
        let stamp = SyncStamp(changeTag: "t", modifiedMilliseconds: 1, acknowledgedThrough: 1)
        let bytes = try Self.encoded(
            kind, stamp: stamp, conflict: Self.report, context: "why")
        for offset in bytes.indices {
            for value in Set([0, 1, 0x7F, 0x80, 0xFF, bytes[offset] ^ 4] as [UInt8]) {
                guard value != bytes[offset] else { continue }
                var damaged = bytes
                damaged[offset] = value
                damaged.withUnsafeBytes { raw in
                    #expect(throws: OperationDamage.self) {
                        _ = try OperationView(raw, sequence: 9)
                    }
                    Self.readUnchecked(raw)
                }
            }
            bytes[..<offset].withUnsafeBytes { raw in
                #expect(throws: OperationDamage.self) { _ = try OperationView(raw, sequence: 9) }
                Self.readUnchecked(raw)
            }
        }
    }

    @Test(arguments: [OperationKind.update, .baseline])
    func `random bytes behind a right checksum throw and never trap`(kind: OperationKind) throws {
        var generator = SeededGenerator(seed: 5)
        let bytes = try Self.encoded(kind, conflict: Self.report, context: "why")
        for _ in 0..<10_000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let offset = Int.random(in: 0..<damaged.count, using: &generator)
                damaged[offset] = UInt8.random(in: 0...255, using: &generator)
            }
            damaged.withUnsafeBytes { Self.readUnchecked($0) }
        }
    }

    /// Reads everything without comparing the checksum.
    private static func readUnchecked(_ raw: UnsafeRawBufferPointer) {
        guard let view = try? OperationView(raw, sequence: 9, verifies: false) else { return }
        _ = try? view.key
        _ = view.stamp
        _ = view.author
        _ = view.context
        _ = try? view.conflictBytes.map { try ConflictReport(reading: $0) }
        guard view.kind.changesContent else { return }
        if view.kind == .baseline { _ = view.baseline.map { FoldedRow($0) } }
        _ = try? OperationStep(view)
        _ = try? view.before.isWellFormed
        _ = try? view.after.isWellFormed
    }
}
