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

    // MARK: Keys

    /// The links to a target, and to others of the same hash.
    static func prefix(_ zone: ZonePlace, target: String) -> HubKey {
        zone.key(.link).adding(hashed: target)
    }

    /// The key of the link from a source; its value is the target.
    func key(_ zone: ZonePlace, source: String) -> HubKey {
        Self.prefix(zone, target: target).adding([kind.rawValue]).adding(source)
    }
}
