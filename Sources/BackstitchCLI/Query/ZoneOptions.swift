import Backstitch
import BackstitchCore
import Terminal

/// The options that name a zone of a store.
enum ZoneOptions {
    static let zone = Syntax.Option("zone", "NAME", "Only what is of the zone with this name.")
    static let owner = Syntax.Option(
        "owner", "NAME", "With --zone: the record name of the user whose zone it is.")

    /// The zone that is named; nil if none is.
    static func chosen(_ arguments: Arguments, of store: Store) throws -> RecordID.Zone? {
        try chosen(named: arguments.text(zone), owner: arguments.text(owner), of: store)
    }

    /// The zone of a name; nil without a name.
    static func chosen(
        named name: String?, owner: String?, of store: Store
    ) throws -> RecordID.Zone? {
        guard let name else {
            if owner != nil { throw UsageError("The owner of a zone needs the zone's name.") }
            return nil
        }
        if let zone = try store.zone(named: name, owner: owner) { return zone }
        let known = try store.zones().compactMap { zone in
            zone.name.map { ZoneName(name: $0, owner: zone.owner).text.printable }
        }
        throw Refusal(
            "The store has no zone '\(ZoneName(name: name, owner: owner).text.printable)'. "
                + (known.isEmpty
                    ? "It was never synchronised." : "It has: \(known.joined(separator: ", "))."))
    }

    /// The key of the record that an option names, in the zone that is named or else in the store's own.
    static func key(
        _ record: Syntax.Option, _ arguments: Arguments, in zone: RecordID.Zone?
    ) -> RecordKey? {
        arguments.text(record).map { RecordKey($0, zone: zone ?? .own) }
    }
}

/// The name of a zone beside a store's own.
struct ZoneName {
    let name: String
    /// The record name of the user whose zone it is; nil for the user of the store.
    let owner: String?

    init(name: String, owner: String?) {
        self.name = name
        self.owner = owner
    }

    /// The name of the zone of a record, also if it ended; nil for the store's own.
    init?(of key: RecordKey, in store: Store) {
        guard key.zone != 0 else { return nil }
        guard let zone = store.catalog.zones.first(where: { $0.number == key.zone }) else {
            self.init(name: "\(key.zone)", owner: nil)
            return
        }
        self.init(name: zone.name, owner: zone.owner)
    }

    var text: String { owner.map { "\(name) of \($0)" } ?? name }
}

extension RecordKey {
    /// The record's name, and that of its zone in front of it if it is not the store's own.
    func text(in store: Store) -> String {
        ZoneName(of: self, in: store).map { "\($0.text)/\(name)" } ?? "\(name)"
    }
}
