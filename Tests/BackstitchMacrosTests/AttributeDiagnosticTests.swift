import TestBudget
import Testing

@Suite(.budgeted) struct AttributeDiagnosticTests {
    @Test func `a constant with a value can't be read back`() {
        let member = Member("let name = \"none\"")
        #expect(
            member.reports == [
                "3:5 'name' can't be read back: a 'let' that has a value can't be set again. "
                    + "Declare it with 'var'."
            ])
        #expect(member.fixes == ["replace 'let' with 'var'": "var name = \"none\""])
    }

    @Test(arguments: ["Date.now", "makeName()", "[1]", "nil", "\"a\" + \"b\"", "Decimal(3)"])
    func `a type that can't be told from a literal is asked for`(value: String) {
        let member = Member("var name = \(value)")
        #expect(
            member.reports == ["3:9 Write the type of 'name', which is part of the schema."])
    }

    @Test(arguments: [
        ("true", "Bool"), ("1", "Int"), ("-1", "Int"), ("1.5", "Double"), ("-1e3", "Double"),
        ("\"a\"", "String"), ("Date()", "Date"), ("UUID()", "UUID"),
    ])
    func `a literal tells its type`(value: String, type: String) {
        let member = Member("var name = \(value)")
        #expect(member.reports.isEmpty)
        #expect(member.expansion.text.contains("fields.read(\(type).self, at: 0, default: "))
    }

    @Test(arguments: [
        "(Int, Int)", "() -> Void", "Any", "any Sendable", "some Sendable", "[String?]",
        "[String: Int]", "Array<[Int]>", "Set<Int>", "[Team.ID]", "[UInt]", "Dictionary<Int, Int>",
        "Character", "[[Int]]?", "(any Sendable)?", "Sendable & Hashable", "Int.Type", "AnyObject",
        "Void",
    ])
    func `a type that can't be stored is reported with those that can`(type: String) {
        let member = Member("var value: \(type)")
        #expect(
            member.reports == [
                "3:16 '\(type)' can't be stored. An attribute is a String, Bool, Int, Int16, Int32, "
                    + "Int64, Float, Double, Decimal, Date, Data, UUID, URL, GeoLocation, Duration, Asset, an "
                    + "enum that conforms to EnumAttributeValue, a list of these, the ID of an entity, or an "
                    + "optional of one of these. Any Codable value can be stored with "
                    + "'@Attribute(.codable)'."
            ])
    }

    @Test(arguments: [
        ("UInt32", "Int64"), ("UInt?", "Int64?"), ("Optional<Int8>", "Int64?"), ("Int8", "Int64"),
        ("Swift.UInt16", "Int64"), ("UInt", "Int64"), ("UInt8", "Int64"), ("UInt64", "Int64"),
    ])
    func `an integer that can't be stored is replaced by one that can`(type: String, by: String) {
        let member = Member("var value: \(type)")
        #expect(
            member.reports == [
                "3:16 '\(type)' can't be stored. The integers that can are Int, Int16, Int32 and Int64. "
                    + "Write '\(by)'."
            ])
        #expect(member.fixes == ["replace '\(type)' with '\(by)'": "var value: \(by)"])
    }

    @Test(arguments: [
        "1st", "with space", "größe", "_hidden", "a-b", String(repeating: "a", count: 256),
    ])
    func `a name that the service does not allow is refused`(name: String) {
        for label in ["originalName", "serviceName"] {
            let member = Member("@Attribute(\(label): \"\(name)\") var value: Int")
            #expect(
                member.reports.map { $0.drop { $0 != " " } } == [
                    " The service does not allow the name '\(name)'. Begin with a letter, and use "
                        + "ASCII letters, digits and underscores, 255 at most."
                ])
        }
    }

    @Test func `two attributes can't have one field`() {
        let member = Member(
            "@Attribute(serviceName: \"f\") var a: Int; @Attribute(originalName: \"f\") var b: Int")
        #expect(
            member.reports == [
                "3:80 'b' has the same field as 'a'. Give one of them another 'serviceName' or "
                    + "'originalName'."
            ])
    }

    @Test func `an implicitly unwrapped optional is told to be an optional`() {
        let member = Member("var name: String!")
        #expect(
            member.reports == ["3:15 'String!' can't be stored. Write 'String' or 'String?'."])
        #expect(member.fixes == ["replace 'String!' with 'String?'": "var name: String?"])
    }

    @Test(arguments: ["Int??", "Optional<Int?>", "Optional<Int>?"])
    func `an optional of an optional is told to be one`(type: String) {
        let inner = type.hasPrefix("Optional<Int>") ? "Optional<Int>" : "Int?"
        let member = Member("var number: \(type)")
        #expect(
            member.reports == [
                "3:17 An attribute is nil or not, so an optional of an optional can't be stored. "
                    + "Write '\(inner)'."
            ])
        #expect(member.fixes == ["replace '\(type)' with '\(inner)'": "var number: \(inner)"])
    }

    @Test func `a lazy property is told to be computed or not lazy`() {
        let member = Member("lazy var name: String = make()")
        #expect(
            member.reports == [
                "3:5 'name' can't be lazy: saving reads every attribute. Remove 'lazy', or make it "
                    + "computed."
            ])
    }

    @Test func `a pattern of several names is told to be split`() {
        let member = Member("var (width, height) = (1, 2)")
        #expect(member.reports == ["3:9 Declare each attribute by itself, with its type."])
    }

    @Test func `a stored property under a condition is reported`() {
        let member = Member(
            """
            #if DEBUG
                var secret: String
                var hint: String { "" }
                static let hints = 1
            #endif
            """)
        #expect(
            member.reports == [
                "4:5 A stored property can't stand inside '#if': every build must store the same "
                    + "attributes. Move it out."
            ])
    }

    @Test func `options are known`() {
        let member = Member("@Attribute(.sorted) var name: String")
        #expect(
            member.reports == [
                "3:16 '.sorted' is no option of @Attribute. The options are .indexed, .unique, "
                    + ".lossless, .localOnly, .notUploaded, .notDownloaded, .transient, .codable, "
                    + ".embedded, .external and .afterwards."
            ])
    }

    @Test(arguments: [
        "@Attribute(.indexed, .indexed)", "@Attribute(.indexed) @Attribute(.indexed)",
    ])
    func `an option is given once`(mark: String) {
        let member = Member("\(mark) var name: String")
        let column = mark.count - ".indexed)".count + 5
        #expect(member.reports == ["3:\(column) '.indexed' is given twice. Remove one."])
    }

    @Test func `only Decimal is lossless`() {
        #expect(
            Member("@Attribute(.lossless) var price: Double?").reports == [
                "3:16 '.lossless' is for Decimal; every 'Double' is kept as it is. Remove it."
            ])
        #expect(Member("@Attribute(.lossless) var price: Decimal?").reports.isEmpty)
        #expect(Member("@Attribute(.lossless) var price: Money").reports.isEmpty)
    }

    @Test func `only Data is external, and only files come afterwards`() {
        let external = "3:16 '.external' is for Data: its bytes are kept in a file. Remove it."
        for declaration in [
            "@Attribute(.external) var image: Asset",
            "@Attribute(.external) var pages: [Data] = []",
            "@Attribute(.external, .codable) var image: Data",
            "@Attribute(.external) var name: Text",
        ] {
            #expect(Member(declaration).reports == [external], "\(declaration)")
        }
        let afterwards =
            "3:16 '.afterwards' is for files: an Asset, a list of them, or Data with '.external'. "
            + "Remove it."
        for type in ["Data", "String", "[Data]"] {
            #expect(Member("@Attribute(.afterwards) var value: \(type)").reports == [afterwards])
        }
        for declaration in [
            "@Attribute(.external) var image: Data?", "@Attribute(.afterwards) var image: Asset?",
            "@Attribute(.afterwards) var pages: [Asset]",
            "@Attribute(.afterwards, .external) var image: Data",
        ] {
            #expect(Member(declaration).reports.isEmpty, "\(declaration)")
        }
        #expect(
            Member("@Attribute(.external, .indexed) var image: Data").reports == [
                "3:27 'Data' can't be indexed: bytes have no order to search by. Remove '.indexed'."
            ])
    }

    @Test func `bytes are not indexed`() {
        #expect(
            Member("@Attribute(.indexed) var hash: Data").reports == [
                "3:16 'Data' can't be indexed: bytes have no order to search by. Remove '.indexed'."
            ])
    }

    @Test(arguments: ["var title: String { name }", "static var title = \"a\""])
    func `marks stand at stored properties`(property: String) {
        let member = Member("@Attribute(.indexed) \(property)")
        #expect(
            member.reports == ["3:5 'title' is not stored in a record. Remove '@Attribute'."])
        #expect(member.fixes == ["remove '@Attribute(.indexed)'": property])
    }

    @Test func `an entity with errors keeps its conformance`() {
        let text = Member("var tags: [[String]]").expansion.text
        #expect(text.contains("extension Model: Backstitch.Entity"))
        #expect(text.contains("fatalError()"))
        #expect(!text.contains("fields.read("))
    }
}
