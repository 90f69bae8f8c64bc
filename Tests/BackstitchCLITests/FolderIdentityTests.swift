import Backstitch
import Foundation
import LMDB
import TestBudget
import Testing
import Threading

/// What a folder holds that a command is given.
enum FolderContent: String, CaseIterable {
    case missing, empty, file, text, unnamedForeign, foreign
    case store, killedStore, hub, both

    static let storeNames = ["log", "tables", "meta"]

    /// Whether the commands of stores take it.
    var isStore: Bool { [.store, .killedStore, .both].contains(self) }

    /// Words of what the commands of a hub say; nil if they take it.
    var refusalOfHub: String? {
        switch self {
        case .missing, .empty: "There is no hub in"
        case .file: "Not a directory"
        case .text: "isn't an LMDB file"
        case .unnamedForeign, .foreign, .store, .killedStore: "does not hold a hub"
        case .both: "holds a hub and other data"
        case .hub: nil
        }
    }

    func make(in fixture: StoreFixture) throws {
        let files = FileManager.default
        func write(_ data: Data) throws {
            try files.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
            try data.write(to: URL(fileURLWithPath: fixture.dataPath))
        }
        switch self {
        case .missing: break
        case .empty:
            try files.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
        case .file: try Data("text".utf8).write(to: URL(fileURLWithPath: fixture.path))
        case .text: try write(Data(String(repeating: "Dear diary, ", count: 2_000).utf8))
        case .unnamedForeign: try write(Self.emptyFile)
        case .foreign:
            try Environment.open(
                at: fixture.path, options: EnvironmentOptions(databases: ["users"])
            ).close()
        case .store: try fixture.fill(60)
        case .killedStore:
            let store = try fixture.open()
            for number in 0..<60 { try store.save("n\(number)", "Note \(number)") }
            // Copied as a killed program leaves it: the last commits are in the journal alone.
            let path = fixture.root + "/killed"
            try files.createDirectory(atPath: path, withIntermediateDirectories: true)
            for name in ["data.mdb", "journal"] {
                try files.copyItem(atPath: fixture.path + "/" + name, toPath: path + "/" + name)
            }
            store.close()
            try files.removeItem(atPath: fixture.path)
            try files.moveItem(atPath: path, toPath: fixture.path)
        case .hub:
            let made = try Runner.run("hub", "user", "--data", fixture.path, "--user", "Ada")
            #expect(made.code == 0, "\(made.complaint)")
        case .both: try makeBoth(in: fixture)
        }
        let lock = fixture.path + "/lock.mdb"
        if files.fileExists(atPath: lock) { try files.removeItem(atPath: lock) }
    }

    /// A store's file that has a hub's database too, as earlier versions of `hub` left one.
    private func makeBoth(in fixture: StoreFixture) throws {
        let entries = try Self.hubEntries(in: fixture.root + "/other")
        var options = EnvironmentOptions(databases: Self.storeNames + ["hub"])
        options.family = DatabaseFamily(prefix: "rows.", countMax: 5_000)
        try Environment.open(at: fixture.path, options: options).close()
        try fixture.fill()
        let environment = try Environment.open(at: fixture.path, options: options)
        defer { environment.close() }
        let database = try environment.database("hub")
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                for (key, value) in entries {
                    try key.withUnsafeBytes { key in
                        try value.withUnsafeBytes {
                            try transaction.access.put(key, $0, in: database)
                        }
                    }
                }
            }
        }
    }

    /// The entries of a new hub, which is made in a folder and removed again.
    private static func hubEntries(in folder: String) throws -> [(key: [UInt8], value: [UInt8])] {
        let made = try Runner.run("hub", "user", "--data", folder, "--user", "Ada")
        #expect(made.code == 0, "\(made.complaint)")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let options = EnvironmentOptions(databases: ["hub"])
        let environment = try Environment.open(at: folder, options: options)
        defer { environment.close() }
        let database = try environment.database("hub")
        return try environment.read { snapshot in
            var entries: [(key: [UInt8], value: [UInt8])] = []
            try snapshot.access.withCursor(in: database) { cursor in
                while try cursor.next() {
                    entries.append((key: Array(cursor.key), value: Array(cursor.value)))
                }
            }
            return entries
        }
    }

    /// An LMDB file of version 0.9 without entries: two meta pages.
    private static var emptyFile: Data {
        var data = Data()
        func add<Number: FixedWidthInteger>(_ number: Number) {
            withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
        }
        /// A tree without pages. That of the free ones has the size of a page in front.
        func addTree(_ pageBytes: UInt32) {
            add(pageBytes)
            for number in [UInt32(0), 0, 0, 0, 0, 0, 0, 0, 0] { add(number) }
            add(UInt64.max)
        }
        for page in [UInt64(0), 1] {
            add(page)
            for number in [UInt16(0), 8, 0, 0] { add(number) }
            for number in [UInt32(0xBEEF_C0DE), 1] { add(number) }
            for number in [UInt64(0), 1 << 20] { add(number) }
            addTree(4_096)
            addTree(0)
            for number in [UInt64(1), page] { add(number) }
            data.append(Data(count: Int(page + 1) * 4_096 - data.count))
        }
        return data
    }
}

@Suite(.budgeted(places: 2)) struct FolderIdentityTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// The actions of a hub that make none where none is.
    static let hubActions = [
        ["users", "list"], ["sessions", "list"], ["epoch"], ["revoke", "--id", "x"], ["doctor"],
        ["verify"],
    ]
    /// Those that make one in a new folder.
    static let makingHubActions = [
        ["token"], ["user", "--user", "Ada"], ["serve", "--listen", "127.0.0.1:0"],
        ["serve", "--listen", "127.0.0.1:0", "--dev"], ["serve", "--check-config"],
    ]
    static let storeCommands = [
        ["inspect"], ["verify"], ["log"], ["conflicts"], ["query", "Note"], ["compact"],
        ["rebuild"], ["studio"],
    ]

    @Test(arguments: FolderContent.allCases.filter { $0.refusalOfHub != nil })
    func `a hub's commands refuse what is no hub's folder, and change nothing there`(
        content: FolderContent
    ) throws {
        try content.make(in: fixture)
        let before = try fixture.snapshot()
        let words = try #require(content.refusalOfHub)
        let makes = content == .missing || content == .empty
        let audit = fixture.path + "/audit.log"
        for action in Self.hubActions + (makes ? [] : Self.makingHubActions) {
            var arguments = ["hub"] + action + ["--data", fixture.path]
            if !action.contains("doctor"), !action.contains("verify") {
                arguments += ["--audit-log", audit]
            }
            let result = try Runner.run(arguments)
            #expect(result.code == 2, "\(action): \(result.output)")
            #expect(result.complaint.contains(words), "\(action): \(result.complaint)")
            #expect(result.output.isEmpty)
            #expect(try fixture.snapshot() == before, "\(action)")
        }
        let copy = try Runner.run(
            "hub", "backup", "--data", fixture.path, "--backup", fixture.root + "/copy")
        #expect(copy.code == 2 && copy.complaint.contains(words), "\(copy.complaint)")
        #expect(try fixture.snapshot() == before)
        let restored = try Runner.run(
            "hub", "restore", "--backup", fixture.path, "--data", fixture.root + "/restored")
        #expect(restored.code == 2)
        #expect(try fixture.snapshot() == before)
    }

    @Test(arguments: FolderContent.allCases.filter { !$0.isStore })
    func `a store's commands refuse what is no store, and change nothing there`(
        content: FolderContent
    ) throws {
        try content.make(in: fixture)
        let before = try fixture.snapshot()
        var commands = Self.storeCommands
        // These two show a hub too.
        if content == .hub { commands.removeAll { $0 == ["studio"] } }
        for command in commands {
            let words = [command[0], fixture.path] + command.dropFirst()
            let result = try Runner.run(words)
            #expect(result.code == 2, "\(command): \(result.output)")
            #expect(!result.complaint.isEmpty)
            #expect(try fixture.snapshot() == before, "\(command)")
        }
        let copy = try Runner.run("backup", fixture.path, fixture.root + "/copy")
        #expect(copy.code == 2)
        let doctorOptions: [[String]] = content == .hub ? [] : [[], ["--repair"]]
        for options in doctorOptions {
            let result = try Runner.run(["doctor", fixture.path] + options)
            #expect(result.code != 0, "\(result.output)")
        }
        #expect(try fixture.snapshot() == before)
    }

    @Test(arguments: [FolderContent.file, .text, .unnamedForeign, .foreign, .hub])
    func `a program's store is not made of what another one wrote`(content: FolderContent) throws {
        try content.make(in: fixture)
        let before = try fixture.snapshot()
        #expect(throws: StoreError.self) { try fixture.open() }
        #expect(try fixture.snapshot() == before)
    }

    @Test func `hub commands take nothing from a store that a program writes to`() throws {
        let store = try fixture.open()
        for number in 0..<40 {
            try store.save("n\(number)", "Note \(number)")
            guard number % 10 == 9 else { continue }
            for action in [["users", "list"], ["doctor"], ["token"]] {
                #expect(try Runner.run(["hub"] + action + ["--data", fixture.path]).code == 2)
            }
        }
        #expect(try store.verify().problems == [])
        #expect(try store.info().operations == 40)
        store.close()
        #expect(try Runner.run("verify", fixture.path).code == 0)
    }

    @Test func `doctor checks a store and the hub in its file`() throws {
        try FolderContent.both.make(in: fixture)
        let text = try Runner.run("doctor", fixture.path)
        #expect(text.code == 0, "\(text.output)\(text.complaint)")
        #expect(text.output.contains("In order: 3 operations"))
        #expect(text.output.contains("also holds a hub (0 records, 0 files)"))
        let json = try Runner.run("doctor", fixture.path, "--json")
        #expect(json.output.contains(#""hub":{"#) && json.output.contains(#""operations":3"#))
        #expect(try Runner.run("verify", fixture.path).code == 0)
        let hub = try Runner.run("hub", "doctor", "--data", fixture.path)
        #expect(hub.code == 2 && hub.complaint.contains("backstitch doctor"))
    }
}
