import Backstitch
import BackstitchCore
import BackstitchLog
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

/// One row is damaged: everything else goes on.
@Suite(.budgeted) struct DamagedRowTests {
    /// The first row of a type was read by each opening, to know whether the type has records.
    @Test func `a store opens whose first row is damaged, and is mended`() async throws {
        let folder = try TemporaryFolder()
        let filled = try folder.open()
        _ = try await filled.write { transaction in
            for number in 0..<5 {
                try transaction.save(Department(id: .init("d\(number)"), name: "\(number)"))
            }
        }
        filled.close()
        try folder.tamper { access, databases in
            var (key, value) = try #require(try access.firstEntry(of: TableKey.rows, databases))
            value[value.count / 2] ^= 1
            try key.withUnsafeBytes { key in
                try value.withUnsafeBytes { try databases.put(key, $0, access) }
            }
        }

        let store = try folder.open()
        defer { store.close() }
        #expect(try store.read { try $0.find(Department.self, "d4") }?.name == "4")
        let error = await #expect(throws: StoreError.self) {
            try await store.write { _ = try $0.save(Department(id: "d0", name: "other")) }
        }
        #expect(error?.code == .damaged)
        #expect(try store.verify().problems.count == 1)
        _ = try await store.write { _ = try $0.save(Department(id: "d5", name: "5")) }
        #expect(try await store.rebuild().isIdentical == false)
        #expect(try store.read { try $0.find(Department.self, "d0") }?.name == "0")
        #expect(try store.verify().problems == [])
    }

    /// So an opening takes as long with a million deleted records as without.
    @Test func `records are looked at for what is new in a schema, and for nothing else`() throws {
        let old = StoreSchema(Department.self)
        let first = try SchemaAdoption(old, on: Catalog(storeID: UUID()), records: Refusing())
        let same = try SchemaAdoption(old, on: first.catalog, records: Refusing())
        #expect(same.catalog == first.catalog && same.violations == [])
        let more = try SchemaAdoption(.all, on: first.catalog, records: Refusing())
        #expect(more.violations == [])
        #expect(throws: Refusing.Looked.self) {
            try SchemaAdoption(
                StoreSchema(Stricter.Department.self), on: first.catalog, records: Refusing())
        }
    }

    /// The same type, of which a value that was optional is not any more.
    enum Stricter {
        @Entity("Department") struct Department {
            var id = ID()
            var name: String
            var budget: Int
        }
    }

    /// Records that nobody may look at.
    private struct Refusing: StoredRecords {
        struct Looked: Error {}

        func isEmpty(_ entity: EntityNumber) throws -> Bool { throw Looked() }
        func hasRecord(of entity: EntityNumber, without field: FieldID) throws -> Bool {
            throw Looked()
        }
        func records(
            of entity: EntityNumber, _ field: FieldID, forbiddenBy schema: AttributeSchema,
            limit: Int
        ) throws -> [RecordKey] { throw Looked() }
    }
}
