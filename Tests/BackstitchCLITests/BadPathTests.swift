import Backstitch
import Foundation
import Glibc
import LMDB
import TestBudget
import Testing

/// What is at the path instead of a store that can be read.
enum BadPlace: String, CaseIterable {
    case missing, missingParent, emptyFolder, file, otherFiles
    case emptyData, garbage, foreign, foreignWithOurNames, foreignWithLock
    case newerFormat, unreadableCatalog, truncated, damagedMeta, damagedPage

    /// Words that the message has.
    var words: String {
        switch self {
        case .missing, .missingParent: "does not exist"
        case .emptyFolder, .otherFiles: "has no file data.mdb"
        case .file: "is a file, not a folder"
        case .emptyData: "is empty"
        case .garbage: "isn't an LMDB file"
        case .foreign, .foreignWithOurNames, .foreignWithLock: "of another program"
        case .newerFormat: "Update the program."
        case .unreadableCatalog: "catalog can't be read"
        case .truncated: "Restore it from a backup"
        case .damagedMeta: "is damaged"
        case .damagedPage: "is damaged"
        }
    }

    func make(in fixture: StoreFixture) throws {
        let files = FileManager.default
        func folder() throws {
            try files.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
        }
        func write(_ text: String, _ name: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: fixture.path + "/" + name))
        }
        func edit(_ change: (inout Data) -> Void) throws {
            let url = URL(fileURLWithPath: fixture.dataPath)
            var data = try Data(contentsOf: url)
            change(&data)
            try data.write(to: url)
        }
        switch self {
        case .missing, .missingParent: break
        case .emptyFolder: try folder()
        case .file: try Data("text".utf8).write(to: URL(fileURLWithPath: fixture.path))
        case .otherFiles:
            try folder()
            try write("text", "readme.txt")
        case .emptyData:
            try folder()
            try write("", "data.mdb")
        case .garbage:
            try folder()
            try write(String(repeating: "garbage ", count: 2_000), "data.mdb")
        case .foreign, .foreignWithOurNames, .foreignWithLock:
            let names = self == .foreignWithOurNames ? ["log", "tables", "meta"] : ["users"]
            let environment = try Environment.open(
                at: fixture.path, options: EnvironmentOptions(databases: names))
            environment.close()
        case .newerFormat:
            try fixture.fill()
            try fixture.damage { access, databases in
                let meta = try #require(databases["meta"])
                try access.change(Array("catalog".utf8), in: meta) { bytes in
                    let text = String(decoding: bytes, as: UTF8.self)
                    bytes = Array(
                        text.replacing("\"formatVersion\":1", with: "\"formatVersion\":2").utf8)
                }
            }
        case .unreadableCatalog:
            try fixture.fill()
            try fixture.damage { access, databases in
                let meta = try #require(databases["meta"])
                try access.change(Array("catalog".utf8), in: meta) { $0[0] = 0x21 }
            }
        case .truncated:
            try fixture.fill(200, bodyBytes: 500)
            try edit { $0 = $0.prefix($0.count / 2) }
        case .damagedMeta:
            try fixture.fill()
            try edit { data in
                for page in 0..<2 { data[page * 4096 + 24 + 16] = 0xFF }
            }
        case .damagedPage:
            try fixture.fill(200, bodyBytes: 500)
            // The page number is the first thing of a page.
            try edit { data in
                for page in 2..<(data.count / 4096) { data[page * 4096 + 7] = 0x5A }
            }
        }
        let lock = fixture.path + "/lock.mdb"
        if self != .foreignWithLock, files.fileExists(atPath: lock) {
            try files.removeItem(atPath: lock)
        }
    }
}

@Suite(.budgeted) struct BadPathTests {
    static let commands = ["inspect", "log", "verify", "rebuild"]
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test(arguments: BadPlace.allCases)
    func `what is no readable store is named and stays as it is`(place: BadPlace) throws {
        try place.make(in: fixture)
        let path = place == .missingParent ? fixture.root + "/no/store" : fixture.path
        let before = try fixture.snapshot()
        for command in Self.commands {
            for options in [[], ["--json"]] {
                let result = try Runner.run([command, path] + options)
                #expect(result.code == 2)
                #expect(result.output.isEmpty)
                #expect(result.complaint.contains(place.words), "\(result.complaint)")
                #expect(result.complaint.hasPrefix("backstitch \(command): "))
                #expect(try fixture.snapshot() == before)
            }
        }
    }

    /// As a user without rights, where the tests run as root.
    private var launcher: [String] {
        geteuid() == 0
            ? ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
    }

    private func setMode(_ mode: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test(arguments: ["store", "store/data.mdb"])
    func `a store without permission is named and stays as it is`(name: String) throws {
        try fixture.fill()
        try setMode(0o755, fixture.path)
        try fixture.removeLock()
        let before = try fixture.snapshot()
        try setMode(0, fixture.root + "/" + name)
        for command in Self.commands {
            let result = try Runner.run([command, fixture.path], through: launcher)
            #expect(result.code == 2)
            #expect(result.complaint.contains("Permission denied. Check the owner and the mode"))
        }
        try setMode(name == "store" ? 0o755 : 0o600, fixture.root + "/" + name)
        #expect(try fixture.snapshot() == before)
    }

    @Test func `a store that can only be read is read, and a rebuild is refused`() throws {
        try fixture.fill()
        try fixture.removeLock()
        try setMode(0o444, fixture.dataPath)
        try setMode(0o444, fixture.path + "/journal")
        try setMode(0o555, fixture.path)
        let before = try fixture.snapshot()
        for command in ["inspect", "log", "verify"] {
            let result = try Runner.run([command, fixture.path], through: launcher)
            #expect(result.code == 0, "\(result.complaint)")
        }
        let rebuilt = try Runner.run(["rebuild", fixture.path], through: launcher)
        #expect(rebuilt.code == 2)
        #expect(rebuilt.complaint.contains("Permission denied"))
        #expect(try fixture.snapshot() == before)
    }

    @Test func `a lock file without permission keeps a rebuild out`() throws {
        try fixture.fill()
        try setMode(0o755, fixture.path)
        try setMode(0o644, fixture.dataPath)
        try setMode(0, fixture.path + "/lock.mdb")
        for file in [fixture.dataPath, fixture.path + "/journal"] where geteuid() == 0 {
            chown(file, 65534, 65534)
        }
        let before = try fixture.snapshot()
        let rebuilt = try Runner.run(["rebuild", fixture.path], through: launcher)
        #expect(rebuilt.code == 2)
        #expect(rebuilt.complaint.contains("can't be written"))
        #expect(try fixture.snapshot() == before)
    }
}
