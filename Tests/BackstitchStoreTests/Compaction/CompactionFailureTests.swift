import Backstitch
import BackstitchCore
import Foundation
import Threading
import TestBudget
import Testing
import XXHash
import LMDB

@testable import BackstitchStore

/// Crashes in the middle, and logs that are not as they should be.
@Suite(.budgeted) struct CompactionFailureTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A store in which all but the last operation may go.
    private func fill(
        _ count: Int = 9, configuration: StoreConfiguration = .quick
    ) async throws -> Store {
        let store = try folder.open(configuration: configuration)
        for number in 0..<count {
            try await store.write { transaction in
                try transaction.save(
                    Department(id: .init("d\(number % 5)"), name: "n\(number)", budget: number))
            }
        }
        try await store.settle()
        try await store.write { try $0.save(Department(id: "last", name: "last")) }
        return store
    }

    @Test func `a crash before any commit leaves a store that is whole`() async throws {
        let expected = try await compactedImage()
        for crash in 0..<5 {
            let folder = try TemporaryFolder()
            let store = try await CompactionFailureTests(folder).fill()
            let tables = try store.tableImage()
            let left = Locked(crash)
            store.setCommitFault {
                let isDue = left.withLock { left -> Bool in
                    left -= 1
                    return left < 0
                }
                if isDue { throw Planned() }
            }
            let wasCut: Bool
            do {
                _ = try await StoreCompaction(store, operationsPerChunk: 3).run(through: .max)
                wasCut = false
            } catch is Planned {
                wasCut = true
            }
            store.close()
            let reopened = try folder.open()
            #expect(try reopened.tableImage() == tables)
            try await reopened.expectConsistent()
            _ = try await StoreCompaction(reopened, operationsPerChunk: 3).run(through: .max)
            #expect(try reopened.kinds() == expected, "after \(crash) commits, cut: \(wasCut)")
            try await reopened.expectConsistent()
            reopened.close()
        }
    }

    private init(_ folder: TemporaryFolder) { self.folder = folder }

    private func compactedImage() async throws -> [String] {
        let store = try await fill()
        defer { store.close() }
        _ = try await StoreCompaction(store, operationsPerChunk: 3).run(through: .max)
        return try store.kinds()
    }

    @Test func `a damaged operation stops it, and nothing of its chunk is written`() async throws {
        let store = try await fill()
        defer { store.close() }
        try store.change(7) { $0[$0.count / 2] ^= 1 }
        let image = try store.image()
        let error = await #expect(throws: StoreError.self) {
            try await store.compact(.keepUnsyncedOnly)
        }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("Operation 7") == true)
        #expect(try store.image() == image)
    }

    @Test func `a log that contradicts itself stops it`() async throws {
        let store = try await fill()
        defer { store.close() }
        // The first operation of a record is told to be an update of what never was.
        try store.environment.tamper { access, databases in
            let key = Array(withUnsafeBytes(of: UInt64(1).bigEndian) { Array($0) })
            _ = try key.withUnsafeBytes { try access.delete($0, in: databases.log) }
        }
        let error = await #expect(throws: StoreError.self) {
            try await store.compact(.keepUnsyncedOnly)
        }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("missing in the log. Run verify.") == true)
    }

    @Test func `every flipped bit of a baseline is found`() async throws {
        let store = try await fill()
        defer { store.close() }
        try await store.compact(.keepUnsyncedOnly)
        let sequence = try #require(
            try store.operations { $0.kind == .baseline ? $0.sequence : nil }.compactMap { $0 }
                .first)
        let bits = try store.bytes(of: sequence).count * 8
        for bit in stride(from: 0, to: bits, by: 11) {
            try store.change(sequence) { $0[bit / 8] ^= 1 << (bit % 8) }
            let report = try store.verify()
            #expect(report.isLogDamaged, "bit \(bit)")
            try store.change(sequence) { $0[bit / 8] ^= 1 << (bit % 8) }
        }
        try await store.expectConsistent()
    }

    /// Damage that has a right checksum, as a fault of the program would have.
    enum Fault: CaseIterable {
        case otherSequence, parked, noRow, previous, unreadable, fields, deleted

        func apply(_ bytes: inout [UInt8], row: Int) {
            switch self {
            case .otherSequence: bytes[row + 4] ^= 64
            case .parked: bytes[row + 1] |= 4
            case .noRow: bytes[row] = 9
            case .previous: bytes[24] = 1
            case .unreadable: bytes[3] |= 4
            case .fields: bytes[bytes.count - 10] ^= 255
            case .deleted: bytes[row + 1] |= 1
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func `a baseline that is not as it should be is found`(fault: Fault) async throws {
        let store = try await fill()
        defer { store.close() }
        try await store.compact(.keepUnsyncedOnly)
        let sequence = try #require(
            try store.operations { $0.kind == .baseline ? $0.sequence : nil }.compactMap { $0 }
                .first)
        let rowCount = try store.operations(from: sequence) { $0.baseline?.row.bytes.count ?? 0 }[0]
        try store.change(sequence) { bytes in
            bytes.removeLast(4)
            fault.apply(&bytes, row: bytes.count - rowCount)
            let sum = bytes.withUnsafeBytes { Checksum.xxh64($0, seed: sequence) }
            bytes += withUnsafeBytes(of: UInt32(truncatingIfNeeded: sum).littleEndian) { Array($0) }
        }
        let report = try store.verify()
        #expect(!report.isConsistent)
    }

    @Test func `a missing baseline is found`() async throws {
        let store = try await fill()
        defer { store.close() }
        try await store.compact(.keepUnsyncedOnly)
        try store.environment.tamper { access, databases in
            let first = try access.withCursor(in: databases.log) { cursor in
                _ = try cursor.first()
                return Array(cursor.key)
            }
            _ = try first.withUnsafeBytes { try access.delete($0, in: databases.log) }
        }
        #expect(try store.verify().problems.first?.contains("which does not follow") == true)
    }

    @Test func `a note of the compaction that is gone, wrong or torn is found`() async throws {
        let store = try await fill()
        defer { store.close() }
        try await store.compact(.keepUnsyncedOnly)
        func note(_ bytes: [UInt8]?) async throws {
            try await store.withLogWriter { context in
                if let bytes {
                    try context.setMeta(MetaName.compaction, bytes)
                } else {
                    try context.deleteMeta(MetaName.compaction)
                }
            }
        }
        try await note(nil)
        #expect(try store.verify().problems.first?.contains("is missing") == true)
        try await note(CompactionBounds(through: 1_000).bytes)
        #expect(try store.verify().problems.contains { $0.contains("the log ends before it") })
        try await note(CompactionBounds(through: 2).bytes)
        #expect(try store.verify().problems.contains { $0.contains("out of its place") })
        for torn in [[], [1, 2, 3], [UInt8](repeating: 255, count: 16)] as [[UInt8]] {
            try await note(torn)
            #expect(failure { _ = try store.verify() }?.code == .damaged)
            let error = await #expect(throws: StoreError.self) {
                try await store.compact(.keepUnsyncedOnly)
            }
            #expect(error?.code == .damaged)
        }
    }

    @Test func `a closed store says so`() async throws {
        let store = try await fill()
        store.close()
        let error = await #expect(throws: StoreError.self) {
            try await store.compact(.keepUnsyncedOnly)
        }
        #expect(error?.code == .closed)
    }
}

extension Store {
    /// Lets the service have everything that waits.
    func settle() async throws {
        let changes = try pushes()
        try await withLogWriter { context in
            for change in changes {
                try context.marks.acknowledge(
                    change.entity, change.key, through: change.through,
                    version: ServerVersion(
                        changeTag: "t\(change.through)", modifiedMilliseconds: 1))
            }
            try context.marks.setOutboxFloor(context.head)
        }
    }

    /// The stored bytes of an operation.
    func bytes(of sequence: UInt64) throws -> [UInt8] {
        try environment.read { transaction in
            try TableKey.withSequence(sequence) { key in
                Array(try #require(try transaction.access.get(key, in: databases.log)))
            }
        }
    }

    /// Changes the stored bytes of an operation.
    func change(_ sequence: UInt64, _ change: (inout [UInt8]) -> Void) throws {
        var bytes = try bytes(of: sequence)
        change(&bytes)
        let changed = bytes
        try environment.tamper { access, databases in
            try TableKey.withSequence(sequence) { key in
                try changed.withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
    }
}
