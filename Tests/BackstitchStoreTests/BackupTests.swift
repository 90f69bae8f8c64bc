import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct BackupTests {
    let folder: TemporaryFolder
    var target: String { folder.root + "/copy" }

    init() throws { folder = try TemporaryFolder() }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.root).sorted() }
    }

    @Test func `a copy is a store of its own that knows where it comes from`() async throws {
        let store = try folder.open()
        try await store.write { try $0.save(Department(id: "d", name: "One")) }
        let report = try StoreBackup(of: store, to: target).make()
        #expect(report.copiedFrom == store.catalog.storeID)
        #expect(report.storeID != store.catalog.storeID)
        #expect(report.operations == 1)
        #expect(report.lastSequence == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["data.mdb"])
        #expect(try names == ["copy", "store"])

        let copy = try Store(at: target, schema: .all, configuration: .quick)
        defer { copy.close() }
        #expect(copy.catalog.storeID == report.storeID)
        #expect(copy.catalog.copiedFrom == report.copiedFrom)
        #expect(try copy.read { try $0.find(Department.self, "d")?.name } == "One")
        try await copy.write { try $0.save(Department(id: "e", name: "Two")) }
        try await copy.expectConsistent()
        #expect(try store.head == 1)
        #expect(store.catalog.copiedFrom == nil)
    }

    @Test func `a store in memory can be copied to disk`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.write { try $0.save(Department(id: "d", name: "One")) }
        try StoreBackup(of: store, to: target).make()
        let copy = try Store.open(existing: target)
        defer { copy.close() }
        #expect(try copy.read { try $0.count(of: "Department") } == 1)
    }

    @Test func `a copy made while others write is one moment of them`() async throws {
        let store = try folder.open()
        try await store.write { try $0.save(Department(id: "d", name: "0")) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<3 {
                group.addTask {
                    for number in 0..<15 {
                        // Both records of a write are in a copy, or neither.
                        try await store.write { transaction in
                            for half in 0..<2 {
                                let id = EntityID<Department>("\(writer)-\(number)-\(half)")
                                try transaction.save(Department(id: id, name: "x"))
                            }
                        }
                    }
                }
            }
            for number in 0..<2 {
                let path = target + "\(number)"
                group.addTask {
                    let report = try StoreBackup(of: store, to: path).make()
                    let copy = try Store.open(existing: path, access: .readWrite)
                    defer { copy.close() }
                    #expect(report.lastSequence % 2 == 1)
                    #expect(try copy.verify().isConsistent)
                    #expect(try copy.read { try $0.count(of: "Department") } == report.operations)
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.head == 91)
    }

    @Test(arguments: ["store", "store/inside", "nothing/copy", "", "file/copy"])
    func `a target that can't be is refused`(name: String) throws {
        let store = try folder.open()
        defer { store.close() }
        #expect(FileManager.default.createFile(atPath: folder.root + "/file", contents: Data()))
        let before = try names
        let error = failure {
            try StoreBackup(of: store, to: name.isEmpty ? "" : folder.root + "/" + name).make()
        }
        #expect(error?.code == .invalidTarget)
        #expect(try names == before)
        #expect(!FileManager.default.fileExists(atPath: folder.store + "/inside"))
    }

    @Test func `a target inside the store is found behind a link too`() throws {
        let store = try folder.open()
        defer { store.close() }
        try FileManager.default.createSymbolicLink(
            atPath: folder.root + "/link", withDestinationPath: folder.store)
        #expect(
            failure { try StoreBackup(of: store, to: folder.root + "/link/x").make() }?.code
                == .invalidTarget)
    }

    @Test func `no copy is made of a store whose log is damaged`() throws {
        try folder.fill()
        try folder.tamper { access, databases in
            try TableKey.withSequence(1) { key in
                guard let stored = try access.get(key, in: databases.log) else { return }
                var bytes = Array(stored)
                bytes[bytes.count / 2] ^= 4
                try bytes.withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
        let store = try Store.open(existing: folder.store)
        defer { store.close() }
        let error = failure { try StoreBackup(of: store, to: target).make() }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("Operation 1: its checksum does not match") == true)
        #expect(try names == ["store"])
    }

    @Test func `a closed store can't be copied`() throws {
        let store = try folder.open()
        store.close()
        #expect(failure { try StoreBackup(of: store, to: target).make() }?.code == .closed)
    }
}
