import Foundation
import TestBudget
import Testing

/// What the compiler itself says about mistakes that no macro can see.
@Suite(.budgeted) struct CompilerDiagnosticTests {
    /// The errors and warnings of a source, each in the compiler's words.
    private func diagnostics(of source: String) throws -> [String] {
        let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("diagnostics-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Mistakes.swift")
        try Data(source.utf8).write(to: file)
        let modules = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/CLMDB/module.modulemap").standardizedFileURL
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = [
            "swiftc", "-typecheck", "-swift-version", "6", "-I",
            products.appendingPathComponent("Modules").path, "-load-plugin-executable",
            products.appendingPathComponent("BackstitchMacros-tool").path + "#BackstitchMacros",
            "-Xcc", "-fmodule-map-file=" + modules.path, file.path,
        ]
        let output = Pipe()
        compiler.standardError = output
        compiler.standardOutput = output
        try compiler.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        compiler.waitUntilExit()
        return text.split(separator: "\n").compactMap { line in
            // Not the copies of a message that are printed beside the source.
            guard line.first != " ", line.first != "|", line.first != "`" else { return nil }
            for kind in ["error: ", "warning: "] {
                if let range = line.range(of: kind) { return String(line[range.lowerBound...]) }
            }
            return nil
        }
    }

    @Test func `a type that can't be stored is one error each, which says what to write`() throws {
        let found = try diagnostics(
            of: """
                import Backstitch
                import Foundation

                enum Status: String, Codable { case open, closed }
                enum Shape { case circle(Double) }
                struct Address: Codable { var city = "" }
                struct Plain: Identifiable { var id = UUID() }

                @Entity struct Tag { var id = ID(); var name: String }
                @Entity struct WithEnum { var id = ID(); var status: Status }
                @Entity struct WithOptionalEnum { var id = ID(); var status: Status? }
                @Entity struct WithEnums { var id = ID(); var all: [Status] }
                @Entity struct WithShape { var id = ID(); var shape: Shape }
                @Entity struct WithStruct { var id = ID(); var address: Address }
                @Entity struct WithRecord { var id = ID(); var tag: Tag }
                @Entity struct WithOptionalRecord { var id = ID(); var tag: Tag? }
                @Entity struct WithRecords { var id = ID(); var tags: [Tag] }
                @Entity struct WithOtherID { var id = ID(); var owner: Plain.ID? }
                @Entity struct Good { var id = ID(); var tag: Tag.ID?; var day: Date }
                """)
        func count(_ text: String) -> Int { found.filter { $0.contains(text) }.count }
        let all = Comment(rawValue: found.joined(separator: "\n"))
        #expect(count("conform it to EnumAttributeValue") == 3, all)
        #expect(count("add @Attribute(.codable) to store a Codable value as JSON") == 2, all)
        #expect(count("store the id, as in 'var owner: Person.ID?'") == 2, all)
        #expect(count("a record holds no other records") == 1, all)
        #expect(count("warning: ") == 1 && count("this ID is not that of an entity") == 1, all)
        #expect(found.count == 9, all)
    }

    /// Code in quotes in the messages of macros and of types that can't be stored; left out is what has gaps.
    private func proposals() throws -> Set<String> {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources").standardizedFileURL
        let files = [
            "Backstitch/Macros.swift", "BackstitchCore/Schema/UnstorableTypes.swift",
            "BackstitchMacroExpansion/Problem.swift",
        ]
        return try files.reduce(into: []) { found, file in
            let text = try String(
                contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            let quoted = text.components(separatedBy: "'").filter { part in
                ["@", "var ", "let ", "enum "].contains { part.hasPrefix($0) }
                    && !["\\(", ":)", "\n"].contains { part.contains($0) }
            }
            found.formUnion(quoted.map { $0.replacingOccurrences(of: "\\\\", with: "\\") })
        }
    }

    @Test func `the code that messages propose compiles`() throws {
        let source = """
            import Backstitch
            import Foundation

            enum Status: String, EnumAttributeValue { case open }
            struct Place: Codable { var city = "" }
            @Embeddable struct Size { var width = 0.0 }
            @Entity struct Person { let id: ID; var name: String }
            @Entity struct Parent {
                var id = ID()
                @Relationship(inverse: \\Child.parent) var children: ToMany<Child>
            }
            @Entity struct Child {
                var id = ID()
                @Relationship(onDelete: .cascade) var parent: Parent.ID?
                var owner: Person.ID?
                var status: Status
                @Attribute(.codable) var place: Place
                @Attribute(.embedded) var size: Size
            }
            """
        let proposals = try proposals()
        #expect(proposals.count >= 9)
        #expect(proposals.filter { !source.contains($0) } == [])
        #expect(try diagnostics(of: source) == [])
    }

    @Test func `the delete rule of another library is explained`() throws {
        let found = try diagnostics(
            of: """
                import Backstitch

                @Entity struct Child { var id = ID(); var parent: Parent.ID? }
                @Entity struct Parent {
                    var id = ID()
                    @Relationship(deleteRule: .cascade, inverse: \\Child.parent)
                    var children: ToMany<Child>
                }
                """)
        #expect(found.contains { $0.contains("the rule at the reference of the other entity") })
        #expect(found.count == 1, Comment(rawValue: found.joined(separator: "\n")))
    }

    @Test func `an inverse that is no reference is not taken for a delete rule`() throws {
        let found = try diagnostics(
            of: """
                import Backstitch

                @Entity struct Child { var id = ID(); var name: String }
                @Entity struct Parent {
                    var id = ID()
                    @Relationship(inverse: \\Child.name) var children: ToMany<Child>
                }
                """)
        let all = Comment(rawValue: found.joined(separator: "\n"))
        #expect(found.contains { $0.contains("RecordReference") }, all)
        #expect(!found.contains { $0.contains("the rule at the reference") }, all)
    }

    @Test func `an order of lists, places and data does not compile`() throws {
        let found = try diagnostics(
            of: """
                import Backstitch
                import Foundation

                @Entity struct Parcel {
                    var id = ID()
                    var name: String
                    var labels: [String] = []
                    var place: GeoLocation?
                    var seal = Data()
                    var weight: Int?
                }
                let all = Query<Parcel>()
                let orders = [
                    all.sorted(by: \\.labels),
                    all.sorted(by: \\.place),
                    all.sorted(by: \\.seal),
                    all.sorted(by: \\.weight).sorted(by: \\.id),
                ]
                let ranges = [
                    all.where(\\.seal, lessThan: Data()),
                    all.where(\\.weight, in: 1..<3).where(\\.seal, is: Data()),
                ]
                func ends(_ store: Store) throws {
                    _ = try store.read { try $0.aggregate(all, .minimum(\\.place)) }
                    _ = try store.read { try $0.aggregate(all, .maximum(\\.labels)) }
                    let heaviest: Int? = try store.read { try $0.aggregate(all, .maximum(\\.weight)) }
                    let last: String? = try store.read { try $0.aggregate(all, .maximum(\\.name)) }
                    print(heaviest ?? 0, last ?? "")
                }
                """)
        let all = Comment(rawValue: found.joined(separator: "\n"))
        // Of the minimum of an optional place it says twice more what it is not.
        #expect(found.count == 8, all)
        #expect(found.filter { $0.contains("OrderedAttributeValue") }.count == 6, all)
    }

    @Test
    func `embedding without its mark, without its macro or as an optional says what to write`()
        throws
    {
        let found = try diagnostics(
            of: """
                import Backstitch

                @Embeddable struct Size { var width: Double; var height = 1.0 }
                struct Other { var width: Double }

                @Entity struct Unmarked { var id = ID(); var size: Size }
                @Entity struct Optional { var id = ID(); var size: Size? }
                @Entity struct Plain { var id = ID(); @Attribute(.embedded) var other: Other }
                @Entity struct Good {
                    var id = ID()
                    @Attribute(.embedded) var size: Size
                    @Attribute(.embedded) var shape = Size(width: 1)
                }
                let all = Query<Good>().where(\\.size.width, in: 1..<2).sorted(by: \\.shape.height)
                let whole = Query<Good>().sorted(by: \\.size)
                """)
        func count(_ text: String) -> Int { found.filter { $0.contains(text) }.count }
        let all = Comment(rawValue: found.joined(separator: "\n"))
        #expect(count("write '@Attribute(.embedded)' at the property") == 1, all)
        #expect(count("is stored in parts and can't be nil") == 1, all)
        #expect(count("only an @Embeddable struct can be embedded") == 1, all)
        #expect(count("OrderedAttributeValue") == 1, all)
        #expect(found.count == 4, all)
    }

    @Test func `eight typed conditions compile`() throws {
        let found = try diagnostics(
            of: """
                import Backstitch

                @Entity struct Site {
                    var id = ID()
                    var area: Double
                    var name: String
                    var owner: String?
                    var tags: [String]
                    var marks: [Int]?
                }
                let sites = Query<Site>()
                    .where(\\.area, in: 1..<3)
                    .where(\\.area, isNot: 2)
                    .where(\\.name, startsWith: "x")
                    .where(\\.name, contains: "y")
                    .where(\\.owner, is: nil)
                    .where(\\.tags, contains: "red")
                    .where(\\.marks, contains: 1)
                    .where(.any([
                        QueryCondition().where(\\.area, greaterThan: 1),
                        .not(QueryCondition().where(\\.name, in: ["a", "b"])),
                    ]))
                """)
        #expect(found == [])
    }

    @Test func `the commonest program compiles without copies and capture lists`() throws {
        let found = try diagnostics(
            of: """
                import Backstitch

                @Entity struct Note { var id = ID(); var title: String }

                func run(in store: Store) async throws {
                    var note = Note(title: "first")
                    try await store.save(note)
                    note.title = "second"
                    let saved = try await store.save(note)
                    print(saved.value, saved.lastSequence)
                    print(try store.read { try $0.find(note.id) } ?? note)
                    print(try store.read { try $0.distinct(Query<Note>(), \\.title).map(\\.count) })
                    try await store.delete(note.id)
                }
                """)
        #expect(found == [])
    }
}
