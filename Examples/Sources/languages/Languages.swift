import Backstitch
import Foundation

/// A language of ISO 639-3.
@Entity struct Language {
    var id = ID()
    @Attribute(.indexed) var name: String
    @Attribute(.indexed) var kind: String
}

/// Imports all languages in parts, shows progress, and can be stopped and run again at any moment.
@main struct Languages {
    static let usage =
        "languages DIR [FILE]: imports the languages of FILE (iso_639-3.json) into a store."

    /// The file of Debian's package iso-codes.
    struct File: Decodable {
        struct Entry: Decodable {
            let alpha_3: String
            let name: String
            let type: String
        }
        let entries: [Entry]

        enum CodingKeys: String, CodingKey { case entries = "639-3" }
    }

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let directory = arguments.first, arguments.count <= 2 else { return print(usage) }
        let path = arguments.dropFirst().first ?? "/usr/share/iso-codes/json/iso_639-3.json"
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let entries = try JSONDecoder().decode(File.self, from: data).entries
        let store = try Store(at: URL(filePath: directory), schema: StoreSchema(Language.self))

        var (done, changed) = (0, 0)
        while done < entries.count {
            // A part is one commit. The code is the record's name: a second run makes no operation.
            let part = entries[done..<min(done + 1_000, entries.count)].map {
                Language(id: .init($0.alpha_3), name: $0.name, kind: $0.type)
            }
            changed += try await store.write { tx in
                try part.count { try tx.save($0) != .unchanged }
            }
            done += part.count
            print("\r\(done) of \(entries.count)", terminator: "")
        }
        print("\r\(done) languages, \(changed) of them new or changed")

        let kinds = try store.read {
            try $0.groups(Query<Language>(), by: GroupKeys(\.kind), .count())
        }
        print("by kind:", kinds.map { "\($0.key): \($0.values)" }.joined(separator: ", "))
    }
}
