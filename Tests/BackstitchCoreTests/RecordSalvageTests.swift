import TestBudget
import Testing

@testable import BackstitchCore

/// What is kept of a record, by value: operations and rows are made, some are left out.
@Suite(.budgeted) struct RecordSalvageTests {
    private static let key = RecordKey(RecordName("r"))

    /// The history of a record and the row that follows from it.
    private struct History {
        var operations: [(sequence: UInt64, bytes: [UInt8])] = []
        var row: FoldedRow?
        var next: UInt64 = 1

        /// Adds an operation; fields are numbers by their ids.
        mutating func add(
            _ kind: OperationKind, _ before: [UInt16: Int64] = [:], _ after: [UInt16: Int64] = [:],
            tag: String? = nil, through: UInt64 = 0
        ) throws {
            var output = ByteBuffer()
            let isFirst = row == nil
            let header = OperationHeader(
                kind: kind, origin: .local, entity: EntityNumber(1), transaction: next,
                clock: next, previous: isFirst ? 0 : row?.header.lastSequence ?? 0,
                key: RecordSalvageTests.key)
            let stamp = tag.map {
                SyncStamp(changeTag: $0, modifiedMilliseconds: 1, acknowledgedThrough: through)
            }
            try OperationEncoder.begin(header, stamp: stamp, into: &output)
            switch kind {
            case .insert: output.append(packed: after)
            case .delete: output.append(packed: before)
            case .update:
                let at = output.count
                output.append(little: UInt32(0))
                output.append(packed: before)
                output.store(little: UInt32(output.count - at - 4), at: at)
                output.append(packed: after)
            default: break
            }
            OperationEncoder.end(sequence: next, into: &output)
            let bytes = Array(output.bytes)
            operations.append((next, bytes))
            try bytes.withUnsafeBytes { bytes in
                var folder = RowFolder()
                try folder.apply(try OperationView(bytes, sequence: next), to: &row)
            }
            next += 1
        }

        /// Salvages the record without some operations.
        func salvage<Result>(
            without lost: Set<UInt64>, row: FoldedRow?, isCurrent: Bool = true,
            areRowsWhole: Bool = true, _ body: (RecordSalvage) throws -> Result
        ) throws -> Result {
            var stored = ByteBuffer()
            row?.header.appendUnchecked(to: &stored)
            row?.body.withUnsafeBytes { stored.append($0) }
            var all = ByteBuffer()
            var ranges: [(UInt64, Range<Int>)] = []
            for (sequence, bytes) in operations where !lost.contains(sequence) {
                let start = all.count
                bytes.withUnsafeBytes { all.append($0) }
                ranges.append((sequence, start..<all.count))
            }
            let views = try ranges.map { try OperationView(all.bytes.part($1), sequence: $0) }
            let view = row == nil ? nil : RowView(stored.bytes)
            return try body(
                RecordSalvage(
                    operations: views,
                    row: view.map {
                        RecordSalvage.StoredRow(view: $0, parked: nil, isCurrent: isCurrent)
                    }, areRowsWhole: areRowsWhole))
        }
    }

    /// Inserted and pushed, then updated twice without sync: operations 1, 2 (acknowledge), 3, 4.
    private func edited() throws -> History {
        var history = History()
        try history.add(.insert, [:], [1: 10, 2: 20])
        try history.add(.acknowledge, tag: "t", through: 1)
        try history.add(.update, [1: 10], [1: 11])
        try history.add(.update, [2: 20], [2: 21])
        return history
    }

    @Test func `a record without damage keeps all`() throws {
        let history = try edited()
        try history.salvage(without: [], row: history.row) { salvage in
            #expect(salvage.fate == .whole)
            #expect(salvage.kept == [0, 1, 2, 3])
            #expect(salvage.baseline == nil && !salvage.isUncertain && !salvage.losesEdits)
        }
    }

    @Test func `where the past is lost, unsynced updates stay on a baseline from the row`() throws {
        let history = try edited()
        for lost: Set<UInt64> in [[1], [2], [1, 2]] {
            try history.salvage(without: lost, row: history.row) { salvage in
                #expect(salvage.fate == .current)
                #expect(salvage.kept == [2 - lost.count + 0, 3 - lost.count])
                #expect(salvage.baseline?.sequence == 1)
                #expect(salvage.baseline?.row.header.isDirty == false)
                #expect(salvage.baseline?.row.header.changeTag == "t")
                #expect(salvage.result == history.row)
                #expect(!salvage.isUncertain && !salvage.losesEdits)
            }
        }
    }

    @Test(arguments: [(3, 3), (4, 4)] as [(UInt64, UInt64)])
    func `where an unsynced update is lost, the record is pushed as a whole`(
        lost: UInt64, sequence: UInt64
    ) throws {
        let history = try edited()
        try history.salvage(without: [lost], row: history.row) { salvage in
            #expect(salvage.fate == .current)
            #expect(salvage.kept == (lost == 3 ? [2] : []))
            #expect(salvage.baseline?.sequence == sequence)
            #expect(salvage.baseline?.row.header.isDirty == true)
            #expect(salvage.result == history.row)
            #expect(salvage.losesEdits)
        }
    }

    @Test func `a record that has a row only is that row`() throws {
        let history = try edited()
        try history.salvage(without: [1, 2, 3, 4], row: history.row) { salvage in
            #expect(salvage.baseline?.row == history.row)
            #expect(salvage.losesEdits)
        }
    }

    @Test func `an old row does not win against later operations`() throws {
        var history = try edited()
        let old = history.row
        try history.add(.update, [1: 11], [1: 12])
        try history.salvage(without: [], row: old, isCurrent: false) { salvage in
            #expect(salvage.fate == .whole && salvage.isUncertain)
            #expect(salvage.result == history.row)
        }
        try history.salvage(without: [1], row: old, isCurrent: false) { salvage in
            #expect(salvage.fate == .older && salvage.isUncertain)
            #expect(salvage.result == history.row)
        }
    }

    @Test func `without its row and with a gap the rest is laid over one another`() throws {
        let history = try edited()
        try history.salvage(without: [3], row: nil, areRowsWhole: false) { salvage in
            #expect(salvage.fate == .older && salvage.isUncertain)
            #expect(salvage.kept == [2])
            #expect(salvage.baseline?.sequence == 3)
            #expect(salvage.result?.header.lastSequence == 4)
            #expect(salvage.result?.header.isDirty == true)
        }
        try history.salvage(without: [1], row: nil, areRowsWhole: false) { salvage in
            #expect(salvage.fate == .lost && salvage.losesEdits)
            #expect(salvage.baseline == nil && salvage.kept == [])
        }
    }

    @Test func `a record without a row has ended where all rows are there`() throws {
        let history = try edited()
        try history.salvage(without: [], row: nil) { salvage in
            #expect(salvage.fate == .ended && salvage.kept == [] && salvage.baseline == nil)
        }
        try history.salvage(without: [], row: nil, areRowsWhole: false) { salvage in
            #expect(salvage.fate == .whole && salvage.isUncertain)
        }
    }

    @Test func `an unsynced delete stays one`() throws {
        var history = try edited()
        try history.add(.delete, [1: 11, 2: 21])
        try history.salvage(without: [1, 3], row: history.row) { salvage in
            #expect(salvage.kept == [1, 2])
            #expect(salvage.baseline?.sequence == 3)
            // What is before it counts as synced, so that the delete is pushed.
            #expect(salvage.baseline?.row.header.isDirty == false)
            #expect(salvage.result?.header.isDeleted == true)
            #expect(salvage.result?.header.isDirty == true)
            #expect(salvage.losesEdits)
        }
        try history.salvage(without: [1, 4], row: nil, areRowsWhole: false) { salvage in
            #expect(salvage.kept == [2])
            #expect(salvage.baseline?.sequence == 4)
            #expect(salvage.result?.header.isDeleted == true)
            #expect(salvage.isUncertain)
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(packed fields: [UInt16: Int64]) {
        let pairs = fields.map { (FieldID($0.key), RecordValue.int64($0.value)) }
        guard let bytes = Fields(pairs).packed else {
            preconditionFailure("Numbers can be packed.")
        }
        bytes.withUnsafeBytes { append($0) }
    }
}
