import BackstitchCore
import CloudKitWire

/// A reference that the hub acts upon.
struct RecordLink: Hashable, Sendable {
    /// What the hub does.
    enum Kind: UInt8, Sendable {
        /// It deletes the source when the target is deleted.
        case deleteSelf = 1
        /// It refuses to delete the target, and the source if there is no target.
        case validate = 2
        /// It refuses the source if there is no target.
        case parent = 3
    }

    var target: String
    var kind: Kind
}

extension RecordLink {
    /// The links of a record, each once.
    ///
    /// - Complexity: O(*n*) in the values of the fields.
    static func links(of fields: WireFields, parent: String) -> [RecordLink] {
        var links: [RecordLink] = []
        var known: Set<RecordLink> = []
        func add(_ value: ServiceValue) {
            guard case .reference(let reference) = value else { return }
            let kind: Kind
            switch reference.action {
            case .deleteSelf: kind = .deleteSelf
            case .validate: kind = .validate
            default: return
            }
            let link = RecordLink(target: reference.recordName, kind: kind)
            if known.insert(link).inserted { links.append(link) }
        }
        for field in fields.values {
            if case .list(let elements, .reference) = field.value {
                elements.forEach(add)
            } else if let value = field.value {
                add(value)
            }
        }
        if !parent.isEmpty { links.append(RecordLink(target: parent, kind: .parent)) }
        return links
    }

    /// What is read to see whether the link may be: its target, and if the number of links to one is
    /// bounded, these.
    func expected(in place: ZonePlace, sourcesMax: Int) -> [KeyQuery] {
        guard ServiceNames.isRecordName(target) else { return [] }
        guard kind == .deleteSelf else { return [.key(StoredRecord.key(place, target))] }
        return [.first(sourcesMax + 1, of: Self.prefix(place, target: target, kind))]
    }

    // MARK: Keys

    /// The links to a target, and to others of the same hash.
    static func prefix(_ zone: ZonePlace, target: String) -> HubKey {
        zone.key(.link).adding(hashed: target)
    }

    /// The links to a target of a kind, and to others of the same hash.
    static func prefix(_ zone: ZonePlace, target: String, _ kind: Kind) -> HubKey {
        prefix(zone, target: target).adding([kind.rawValue])
    }

    /// The key of the link from a source; its value is the target.
    func key(_ zone: ZonePlace, source: String) -> HubKey {
        Self.prefix(zone, target: target).adding([kind.rawValue]).adding(source)
    }
}
