import Backstitch
import BackstitchLog
import BackstitchRepair
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchCore
@testable import BackstitchStore

/// What can lie at the path of a store.
@Suite(.budgeted) struct BadInputFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func write(_ data: Data) throws {
        try FileManager.default.createDirectory(
            atPath: folder.store, withIntermediateDirectories: true)
        try data.write(to: URL(fileURLWithPath: folder.dataPath))
    }

    private func expectRefused(
        _ codes: Set<StoreError.Code>, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let before = try? folder.data()
        let error = failure { _ = try folder.open() }
        #expect(
            error.map { codes.contains($0.code) } == true, "\(error.map(\.description) ?? "none")",
            sourceLocation: location)
        #expect(error?.message.isEmpty == false, sourceLocation: location)
        #expect((try? folder.data()) == before, sourceLocation: location)
    }

    @Test(arguments: [
        "This is a text.", "SQLite format 3\0" + String(repeating: "\0", count: 8192),
        String(repeating: "x", count: 100_000),
    ])
    func `a file of another program`(text: String) throws {
        try write(Data(text.utf8))
        try expectRefused([.notAStore])
    }

    @Test func `an LMDB file of another program`() throws {
        let environment = try Environment.open(
            at: folder.store, options: EnvironmentOptions(databases: ["users", "mails"]))
        environment.close()
        try expectRefused([.notAStore])
        let ours = failure { _ = try folder.open() }
        #expect(ours?.message.contains(folder.store) == true)
    }

    @Test func `an empty data file`() throws {
        try write(Data())
        try expectRefused([.notAStore, .damaged])
    }

    @Test func `a truncated data file is refused or whole, at any length`() throws {
        try folder.fill()
        let whole = try folder.data()
        for length in stride(from: 1, to: whole.count, by: 1021) {
            try write(whole.prefix(length))
            let error = failure {
                let store = try folder.open()
                #expect(try store.verify().problems == [])
                store.close()
            }
            if let error {
                #expect([.notAStore, .damaged].contains(error.code), "\(length): \(error)")
            }
        }
    }

    @Test func `a path that is a file, and one without its parent`() throws {
        try Data("x".utf8).write(to: URL(fileURLWithPath: folder.store))
        try expectRefused([.notAStore])
        let path = folder.root + "/none/store"
        let error = failure { _ = try Store(at: path, schema: .all) }
        #expect(error?.code == .notAStore)
        #expect(error?.message.contains(folder.root) == true)
        for path in ["", "a\0b"] {
            #expect(failure { _ = try Store(at: path, schema: .all) }?.code == .notAStore)
        }
    }

    @Test func `a catalog of a newer format`() throws {
        try folder.fill()
        try replaceCatalog(#"{"formatVersion":2,"anything":[]}"#)
        try expectRefused([.newerFormat])
        #expect(failure { _ = try folder.open() }?.message.contains("version 2") == true)
    }

    @Test func `a doctor does not take a store of a newer format for damaged`() throws {
        try folder.fill()
        try folder.tamper { access, databases in
            let catalog = Array(#"{"formatVersion":2}"#.utf8)
            try access.putMeta(MetaName.catalog, catalog, databases)
        }
        let (data, repair) = (try folder.data(), StoreRepair(folder.store))
        #expect(failure { _ = try repair.diagnosis() }?.code == .newerFormat)
        #expect(failure { _ = try repair.repair(milliseconds: 1) }?.code == .newerFormat)
        #expect(try folder.data() == data)
    }

    @Test func `a catalog of a format that was never released, and ones with unknown zones`() throws
    {
        try folder.fill()
        try replaceCatalog(#"{"formatVersion":1,"entities":[]}"#)
        try expectRefused([.damaged])
        #expect(failure { _ = try folder.open() }?.message.contains("never released") == true)
        for zone in [#""number":255,"database":"private""#, #""number":2,"database":"moon""#] {
            try replaceCatalog("{\"formatVersion\":1,\"zones\":[{\"name\":\"list\",\(zone)}]}")
            try expectRefused([.newerFormat])
            #expect(failure { _ = try folder.open() }?.message.contains("a zone of a kind") == true)
        }
    }

    @Test(
        arguments: [
            "", "{", "[]", #"{"formatVersion":"1"}"#, #"{"formatVersion":1}"#,
            #"{"formatVersion":0,"zones":[]}"#, #"{"formatVersion":1,"zones":[]}"#, "\u{0}",
            #"{"formatVersion":1,"zones":[{"slot":2}]}"#,
        ])
    func `a damaged catalog`(text: String) throws {
        try folder.fill()
        try replaceCatalog(text)
        try expectRefused([.damaged])
    }

    @Test func `a catalog that is gone`() throws {
        try folder.fill()
        try folder.tamper { access, databases in
            try Array(MetaName.catalog.utf8).withUnsafeBytes {
                _ = try access.delete($0, in: databases.meta)
            }
        }
        try expectRefused([.damaged])
    }

    @Test func `a catalog whose checksum is gone is damage, and a repair keeps it`() throws {
        try folder.fill()
        try folder.tamper { access, databases in
            try Array(MetaChecksum.name(of: MetaName.catalog).utf8).withUnsafeBytes {
                _ = try access.delete($0, in: databases.meta)
            }
        }
        let repair = StoreRepair(folder.store)
        let problem = "What is kept under 'catalog' is damaged: its checksum does not match."
        #expect(try repair.diagnosis().findings.map(\.message) == [problem])
        let report = try repair.repair(milliseconds: 1)
        #expect(report.salvage?.metaDropped == [])
        #expect(try repair.diagnosis().isHealthy)
    }

    private func replaceCatalog(_ text: String) throws {
        try folder.tamper { access, databases in
            try Array(MetaName.catalog.utf8).withUnsafeBytes { key in
                try Array(text.utf8).withUnsafeBytes { try access.put(key, $0, in: databases.meta) }
            }
        }
    }

    @Test func `a catalog that contradicts itself`() throws {
        try folder.fill()
        let store = try folder.open()
        var twice = store.catalog
        store.close()
        twice.entities.append(contentsOf: twice.entities)
        let bytes = try CatalogCoding.encode(twice)
        try replaceCatalog(String(decoding: bytes, as: UTF8.self))
        try expectRefused([.damaged])
    }

    @Test func `an operation at the head that can't be read`() throws {
        try folder.fill()
        try folder.tamper { access, databases in
            try TableKey.withSequence(1) { key in
                try [1, 2, 3].withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
        let store = try folder.open()
        let error = failure { _ = try store.write { try $0.save(Node(id: "n")) } }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("verify") == true)
        #expect(try store.verify().problems.first?.contains("Operation 1") == true)
        #expect(try store.read { try $0.find(Department.self, "d") } != nil)
    }

    @Test func `a folder that can't be written`() throws {
        let path = folder.root + "/locked"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: path)
        defer {
            try? FileManager.default.setAttributes(
                [.posixPermissions: 0o700], ofItemAtPath: path)
        }
        // The mode does not bind the superuser; a file system that nobody can write does.
        let place = getuid() == 0 ? "/proc/self" : path
        let error = failure { _ = try Store(at: place + "/store", schema: .all) }
        #expect(error.map { [.inaccessible, .notAStore, .io].contains($0.code) } == true)
        #expect(error?.message.contains(place) == true)
    }
}
