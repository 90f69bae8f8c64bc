import Backstitch
import Foundation
import Terminal
import TestBudget
import Testing

@Entity private struct Scan {
    var id = ID()
    var page: Asset?
}

/// The command that looks at the files of records, and the demo of files.
@Suite(.budgeted) struct AssetsCommandTests {
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/assets-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    /// A store with one content that a record holds and one that none does.
    private func fill() async throws -> String {
        let path = folder + "/store"
        let store = try Store(at: URL(filePath: path), schema: StoreSchema(Scan.self))
        defer { store.close() }
        let held = try await store.assets.add { try $0.write(Array("held".utf8)) }
        _ = try await store.assets.add { try $0.write(Array("nobody's".utf8)) }
        try await store.save(Scan(page: held))
        return path
    }

    private func object(_ text: String) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test func `it tells what is there, and what nothing names`() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try await fill()
        let plain = try Runner.run("assets", path)
        #expect(plain.code == 0 && plain.output.contains("2 files"), "\(plain.complaint)")
        let result = try Runner.run("assets", path, "--verify", "--json")
        let json = try object(result.output)
        #expect(json["files"] as? Int == 2 && json["bytes"] as? Int == 12)
        #expect(json["checked"] as? Int == 2 && json["orphans"] as? Int == 1)
        #expect((json["corrupt"] as? [String])?.isEmpty == true)
        // What is new stays for an hour, and what is not on the service is not evicted.
        let tidied = try Runner.run("assets", path, "--orphans", "--evict", "0", "--json")
        let after = try object(tidied.output)
        #expect(after["collectedFiles"] as? Int == 0 && after["evictedFiles"] as? Int == 0)
        #expect(after["files"] as? Int == 2)
    }

    @Test func `the doctor tells of files that differ or are gone, and moves away what differs`()
        async throws
    {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try await fill()
        let whole = try Runner.run("doctor", path, "--json")
        let first = try object(whole.output)
        #expect(whole.code == 0 && first["healthy"] as? Bool == true, "\(whole.complaint)")
        #expect((first["contents"] as? [String: Any])?["checked"] as? Int == 2)
        let enumerator = FileManager.default.enumerator(atPath: path + "/blobs")
        let files = (enumerator?.allObjects as? [String] ?? []).filter { $0.count > 60 }
        for file in files {
            try Data("other".utf8).write(to: URL(filePath: path + "/blobs/" + file))
        }
        let found = try Runner.run("doctor", path, "--json")
        let second = try object(found.output)
        #expect(found.code == 1 && second["healthy"] as? Bool == false)
        let findings = second["findings"] as? [[String: Any]]
        #expect(findings?.map { $0["part"] as? String } == ["contents", "contents"])
        #expect(try Runner.run("doctor", path).output.contains("another content"))
        let still = try FileManager.default.contentsOfDirectory(atPath: path + "/blobs")
        #expect(!still.contains("corrupt"), "it changes nothing")
        // One that nobody else has is missing from then on.
        let repaired = try Runner.run("doctor", path, "--repair", "--json")
        #expect(repaired.code == 1)
        let after = try object(try Runner.run("doctor", path, "--json").output)
        let contents = after["contents"] as? [String: Any]
        #expect((contents?["corrupt"] as? [String])?.isEmpty == true)
        #expect((contents?["missing"] as? [String])?.count == 1)
    }

    @Test func `an export with its files makes a store that has them`() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try await fill()
        let (lines, files, new) = (folder + "/lines", folder + "/files", folder + "/new")
        let exported = try Runner.run(
            "export", path, "--with-schema", "--output", lines, "--files", files)
        #expect(exported.code == 0, "\(exported.complaint)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: files).count == 1)
        let without = try Runner.run("import", folder + "/none", lines, "--create")
        #expect(without.code == 1 && without.complaint.contains("content this store does not have"))
        let imported = try Runner.run("import", new, lines, "--create", "--files", files)
        #expect(imported.code == 0, "\(imported.complaint)")
        let store = try Store(at: URL(filePath: new), schema: StoreSchema(Scan.self))
        let scan = try #require(try store.read { try $0.fetch(Scan.self) }.first)
        let reader = try await store.assets.open(try #require(scan.page))
        #expect(try reader.read(at: 0, count: 9) == Data("held".utf8))
        store.close()
        // A file that is another one than its name says is told.
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: files).first)
        try Data("other".utf8).write(to: URL(filePath: files + "/" + name))
        let wrong = try Runner.run("import", new, lines, "--files", files)
        #expect(wrong.code == 2 && wrong.complaint.contains("another content"))
    }

    @Test func `a file that was changed is told, and moved away`() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try await fill()
        let blobs = URL(filePath: path + "/blobs")
        let files = FileManager.default.enumerator(at: blobs, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard (try? Data(contentsOf: file)) == Data("held".utf8) else { continue }
            try Data("hold".utf8).write(to: file)
        }
        let result = try Runner.run("assets", path, "--verify")
        #expect(result.code == 1)
        #expect(result.output.contains("moved to blobs/corrupt"))
        #expect(result.output.contains("Neither here nor on the service"))
    }

    @Test func `a number of bytes that is none is refused`() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try await fill()
        #expect(try Runner.run("assets", path, "--evict", "-1").code == 2)
        #expect(try Runner.run("demo", "--assets", "--input", "x").code == 2)
    }

    @Test(arguments: [[String](), ["--hub"]])
    func `the demo's files come out as they went in`(options: [String]) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let result = try Runner.run(
            ["demo", "--assets", "--json"] + options, through: ["/usr/bin/env", "TMPDIR=\(folder)"])
        #expect(result.code == 0 && result.complaint == "")
        let json = try object(result.output)
        #expect(
            Set(json.keys) == [
                "assets", "bytes", "resumed", "bytesSent", "hashMismatches", "orphans", "converged",
            ])
        let bytes = try #require(json["bytes"] as? Int)
        let sent = try #require(json["bytesSent"] as? Int)
        #expect(try #require(json["assets"] as? Int) >= 100 && bytes >= 20 << 20)
        #expect(try #require(json["resumed"] as? Int) >= 1)
        #expect(sent >= bytes && sent * 5 <= bytes * 6)
        #expect(json["hashMismatches"] as? Int == 0 && json["orphans"] as? Int == 0)
        #expect(json["converged"] as? Bool == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
}
