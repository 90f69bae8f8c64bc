import TestBudget
import Testing

@Suite(.budgeted) struct AttributeOptionTests {
    @Test(arguments: [
        "[String]", "[Int]?", "Array<Double>", "[Date]", "GeoLocation", "GeoLocation?", "Status",
        "[Status]",
    ])
    func `lists, locations and enums are attributes`(type: String) {
        let member = Member("var value: \(type)")
        #expect(member.reports.isEmpty)
        #expect(member.expansion.text.contains("fields.read(\(type).self, at: 0)"))
    }

    @Test func `a type that can't be stored can be coded`() {
        let member = Member("var value: [String: Int]")
        #expect(
            member.fixes == [
                "add '@Attribute(.codable)'": "@Attribute(.codable) var value: [String: Int]"
            ])
    }

    @Test func `a coded value is wrapped`() {
        let text = Member("@Attribute(.codable) var value: [String: Int] = [:]").expansion.text
        #expect(
            text.contains(
                "AttributeSchema(\"value\", Backstitch._CodedValue<[String: Int]>.self, hasDefault: true)"
            ))
        #expect(
            text.contains(
                "fields.read(Backstitch._CodedValue<[String: Int]>.self, at: 0, "
                    + "default: Backstitch._CodedValue([:])).content"))
        #expect(text.contains("fields.write(Backstitch._CodedValue(self.value), at: 0)"))
    }

    @Test func `an optional coded value is wrapped inside`() {
        let text = Member("@Attribute(.codable) var value: Settings?").expansion.text
        #expect(
            text.contains("fields.read(Backstitch._CodedValue<Settings>?.self, at: 0)?.content"))
        #expect(text.contains("self.value.map {"))
    }

    @Test func `external bytes are read and written as files`() {
        let text = Member("@Attribute(.external) var value = Data()").expansion.text
        #expect(
            text.contains(
                "AttributeSchema(\"value\", Data.self, options: [.external], hasDefault: true"))
        #expect(text.contains("fields.read(external: Data.self, at: 0, default: Data())"))
        #expect(text.contains("try fields.write(external: self.value, at: 0)"))
        let optional = Member("@Attribute(.external) var value: Data?").expansion.text
        #expect(optional.contains("fields.read(external: Data?.self, at: 0)"))
    }

    @Test func `a transient property is no attribute`() {
        let member = Member("@Attribute(.transient) var cache: [String: Int] = [:]")
        #expect(member.reports.isEmpty)
        #expect(!member.expansion.text.contains("\"cache\""))
        #expect(Member("@Attribute(.transient) var cache: Cache?").reports.isEmpty)
        #expect(
            Member("@Attribute(.transient) var cache: Cache").reports == [
                "3:32 'cache' is not stored, so every read gives it its initial value. Write one."
            ])
        #expect(
            Member("@Attribute(.transient, .indexed) var rank = 1").reports == [
                "3:5 'rank' is not stored, so nothing else can be said of it. Leave '.transient' "
                    + "alone."
            ])
    }

    @Test func `what stays on the device needs a value elsewhere`() {
        let member = Member("@Attribute(.localOnly) var draft: String")
        #expect(
            member.reports == [
                "3:39 'draft' stays on this device, so records from elsewhere lack it. Make it "
                    + "optional or give it an initial value."
            ])
        #expect(
            member.fixes == [
                "replace 'String' with 'String?'": "@Attribute(.localOnly) var draft: String?"
            ])
        #expect(Member("@Attribute(.localOnly) var draft = \"\"").reports.isEmpty)
        #expect(Member("@Attribute(.localOnly) var marks: [String]").reports.isEmpty)
    }

    @Test(arguments: [("notUploaded", "pushed"), ("notDownloaded", "pulled")])
    func `what goes one way needs a value elsewhere`(option: String, what: String) {
        let member = Member("@Attribute(.\(option)) var draft: String")
        let column = 30 + option.count
        #expect(
            member.reports == [
                "3:\(column) 'draft' is never \(what), so records from elsewhere lack it. Make it "
                    + "optional or give it an initial value."
            ])
        let optional = Member("@Attribute(.\(option)) var draft: String?")
        #expect(optional.reports.isEmpty)
        #expect(optional.expansion.text.contains("options: [.\(option)])"))
    }

    @Test func `masks that say the same are told apart`() {
        #expect(
            Member("@Attribute(.localOnly, .notUploaded) var draft: String?").reports == [
                "3:28 '.localOnly' says already what '.notUploaded' does. Remove one."
            ])
        #expect(
            Member("@Attribute(.notUploaded, .notDownloaded) var draft: String?").reports == [
                "3:30 What is neither uploaded nor downloaded stays on the device. Write "
                    + "'.localOnly'."
            ])
    }

    @Test func `a name on the service is part of the schema`() {
        let member = Member("@Attribute(.indexed, serviceName: \"MAIL\") var email: String")
        #expect(member.reports.isEmpty)
        #expect(member.expansion.text.contains("options: [.indexed], serviceName: \"MAIL\")"))
        #expect(
            Member("@Attribute(serviceName: name) var email: String").reports == [
                "3:29 Write the service's name as a string literal that is not empty."
            ])
        #expect(
            Member("@Attribute(originalName: \"m\", serviceName: \"M\") var email: String").reports
                == [
                    "3:30 'serviceName' names the field, whatever the property was called first. "
                        + "Remove 'originalName'."
                ])
        #expect(
            Member("@Attribute(.localOnly, serviceName: \"M\") var email: String?").reports == [
                "3:41 'email' is never exchanged, so the service has no name for it. Remove "
                    + "'serviceName'."
            ])
    }

    @Test func `a first name is part of the schema`() {
        let member = Member("@Attribute(.indexed, originalName: \"mail\") var email: String")
        #expect(member.reports.isEmpty)
        #expect(
            member.expansion.text.contains("options: [.indexed], originalName: \"mail\")"))
        #expect(
            Member("@Attribute(originalName: name) var email: String").reports == [
                "3:30 Write the original name as a string literal that is not empty."
            ])
        #expect(
            Member("@Attribute(originalName: \"email\") var email: String").reports == [
                "3:30 'email' is the property's own name. Write the name that it had first, or "
                    + "remove 'originalName'."
            ])
    }

    @Test(arguments: [
        ("Status", ".open", ".open as Status"), ("[String]", "[\"a\"]", "[\"a\"] as [String]"),
        ("Date", ".distantPast", ".distantPast as Date"), ("Int", "-1", "-1"),
        ("Decimal", "Decimal(3)", "Decimal(3) as Decimal"),
        ("UUID", "UUID(uuidString: \"x\")!", "UUID(uuidString: \"x\")! as UUID"),
        ("String", "String()", "String() as String"),
        ("String", "Self.none", "Self.none as String"),
    ])
    func `a default that is the same each time is recorded`(
        type: String, value: String, recorded: String
    ) {
        let member = Member("var value: \(type) = \(value)")
        #expect(member.expansion.text.contains("hasDefault: true, default: \(recorded))"))
    }

    @Test(arguments: [
        "Date()", "Date.now", ".now", "UUID()", "make()", "Date(timeIntervalSinceNow: 1)",
    ])
    func `a default that may differ is not recorded, and can't be indexed`(value: String) {
        let member = Member("var value: Date = \(value)")
        #expect(member.reports.isEmpty)
        #expect(member.expansion.text.contains("hasDefault: true)"))
        let reports = Member("@Attribute(.indexed) var value: Date = \(value)").reports
        #expect(
            reports == [
                "3:44 The initial value of 'value' may differ each time, so an index can't hold "
                    + "it. Write a constant, make the attribute optional, or remove the index."
            ])
    }

    @Test(arguments: [
        ("indexed", "[String]", "a list"), ("unique", "[Int]", "a list"),
        ("indexed", "GeoLocation", "a GeoLocation"), ("unique", "GeoLocation?", "a GeoLocation"),
        ("unique", "Data", "Data"),
    ])
    func `what has no order has no index`(option: String, type: String, what: String) {
        #expect(
            Member("@Attribute(.\(option)) var value: \(type)").reports == [
                "3:16 '.\(option)' keeps an index, and \(what) has no order to search by. "
                    + "Remove it."
            ])
    }
}
