import Backstitch
import Terminal

/// The records that the story is about.
///
/// `others` are the records that the main ones refer to.
struct DemoData<Record: DemoRecord>: Sendable {
    /// What the main records are, in the plural.
    let title: String
    let schema: StoreSchema
    var others: [any Entity] = []
    /// Sorted by id, so that they are stored in the order of their keys.
    var records: [Record] = []

    var count: Int { others.count + records.count }
}

/// Makes records of the stanzas of a package index.
struct PackageIndex {
    static let schema = StoreSchema(Package.self, Maintainer.self, Section.self)

    /// The fields that are read.
    static let fields: Set<String> = [
        "Package", "Version", "Architecture", "Description", "Priority", "Source", "Homepage",
        "Depends", "Size", "Installed-Size", "Section", "Maintainer",
    ]

    private var packages: [Package.ID: Package] = [:]
    private var maintainers: [Maintainer.ID: Maintainer] = [:]
    private var sections: [Section.ID: Section] = [:]
    /// The ids of what was read before, by the text in the stanzas.
    private var maintainerIDs: [String: Maintainer.ID] = [:]
    private var sectionIDs: [String: Section.ID] = [:]
    /// Stanzas that were there before, with the same name, version and architecture.
    private(set) var repeats = 0

    var isEmpty: Bool { packages.isEmpty }

    /// Takes a stanza; returns what is wrong with it.
    ///
    /// Packages are told apart by name, version and architecture together, and the first stanza of
    /// each counts.
    mutating func add(_ stanza: Deb822Stanza) -> String? {
        let fields = stanza.fields
        var key: [String] = []
        for name in ["Package", "Version", "Architecture"] {
            guard let value = fields[name], !value.isEmpty else { return "there is no \(name)" }
            key.append(value)
        }
        let recordName = key.joined(separator: "_")
        guard recordName.utf8.count <= RecordName.byteCountMax, !recordName.hasPrefix("_"),
            recordName.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return "'\(recordName.shortened(to: 60).printable)' can't be a record name" }
        var numbers: [String: Int] = [:]
        for name in ["Size", "Installed-Size"] {
            guard let text = fields[name] else { continue }
            guard let number = Int(text) else {
                return "\(name) is no number: '\(text.shortened(to: 40).printable)'"
            }
            numbers[name] = number
        }
        let id = Package.ID(recordName)
        guard packages[id] == nil else {
            repeats += 1
            return nil
        }
        packages[id] = Package(
            id: id, name: key[0], version: key[1], architecture: key[2],
            summary: fields["Description"].map(Self.firstLine) ?? "",
            priority: fields["Priority"] ?? "optional", source: fields["Source"],
            homepage: fields["Homepage"], depends: fields["Depends"], bytes: numbers["Size"],
            installedKilobytes: numbers["Installed-Size"],
            section: fields["Section"].map { section($0) },
            maintainer: fields["Maintainer"].map { maintainer($0) })
        return nil
    }

    /// All that was read.
    var data: DemoData<Package> {
        var data = DemoData<Package>(title: "packages", schema: Self.schema)
        data.others += sections.values.sorted { $0.id < $1.id } as [any Entity]
        data.others += maintainers.values.sorted { $0.id < $1.id } as [any Entity]
        // Ids are smaller to move about than packages.
        data.records = packages.keys.sorted().compactMap { packages[$0] }
        return data
    }

    private mutating func section(_ name: String) -> Section.ID {
        if let known = sectionIDs[name] { return known }
        let id = Section.ID("section:" + Self.recordNamePart(name))
        sectionIDs[name] = id
        if sections[id] == nil { sections[id] = Section(id: id, name: name) }
        return id
    }

    /// Maintainers are told apart by their address; the first name of each counts.
    private mutating func maintainer(_ text: String) -> Maintainer.ID {
        if let known = maintainerIDs[text] { return known }
        var name = text
        var email = ""
        if let open = text.lastIndex(of: "<"), text.hasSuffix(">") {
            email = String(text[text.index(after: open)...].dropLast())
            name = String(text[..<open].reversed().drop { $0 == " " }.reversed())
        }
        let id = Maintainer.ID(
            "maintainer:" + Self.recordNamePart(email.isEmpty ? name : email.lowercased()))
        maintainerIDs[text] = id
        if maintainers[id] == nil {
            maintainers[id] = Maintainer(id: id, name: name, email: email)
        }
        return id
    }

    private static func firstLine(_ text: String) -> String {
        text.prefix { $0 != "\n" }.description
    }

    /// A text as part of a record name, which is ASCII on the service: other bytes are spelled as
    /// `%` and two digits, and a name that would be too long ends in a number made of the rest.
    static func recordNamePart(_ text: String) -> String {
        var name = ""
        for byte in text.utf8 {
            if byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "%") {
                name.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                name += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        guard name.utf8.count > 200 else { return name }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return name.prefix(180) + "%" + String(hash, radix: 36)
    }
}
