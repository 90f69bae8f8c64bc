import BackstitchCore

/// One user's zones.
struct DatabaseState: Sendable {
    /// Why a zone is gone, and when it went.
    struct EndedZone: Sendable {
        var error: ServiceError.Code
        var databaseSequence: Int
    }

    /// A subscription, and the devices that asked for it.
    struct Subscription: Sendable {
        var zone: ZoneID
        var devices: Set<String>
    }

    /// Tells this database from all others.
    let number: Int
    var zones: [ZoneID: ZoneState] = [:]
    var endedZones: [ZoneID: EndedZone] = [:]
    var subscriptions: [String: Subscription] = [:]
    /// The position of the last change in the list of changed zones.
    var sequence = 0
    /// Tokens below this are refused.
    var floor = 0

    init(number: Int) {
        self.number = number
    }

    mutating func noteChange(in zone: ZoneID) {
        sequence += 1
        zones[zone]?.databaseSequence = sequence
    }

    /// Makes tokens given so far stop working.
    mutating func expireTokens() {
        sequence += 1
        floor = sequence
    }

    /// Why a zone that is not there is not there.
    func absence(of zone: ZoneID) -> ServiceError {
        switch endedZones[zone]?.error {
        case .zoneDeletedByUser?:
            ServiceError(.zoneDeletedByUser, "zone was deleted by user")
        case .zonePurged?: ServiceError(.zonePurged, "zone was purged by user")
        case .encryptedDataReset?:
            ServiceError(.encryptedDataReset, "user did reset encrypted data key")
        default: ServiceError(.zoneNotFound, "zone does not exist")
        }
    }

    /// Ends a zone; false if it does not exist.
    mutating func end(_ zone: ZoneID, error: ServiceError.Code) -> Bool {
        guard zones.removeValue(forKey: zone) != nil else { return false }
        sequence += 1
        endedZones[zone] = EndedZone(error: error, databaseSequence: sequence)
        subscriptions = subscriptions.filter { $0.value.zone != zone }
        return true
    }

    /// The zones that changed or ended after a position, in order of their last change.
    func changes(after position: Int, count: Int) -> (page: DatabaseChangesPage, sequence: Int) {
        var events: [(sequence: Int, zone: ZoneID)] = []
        for (zone, state) in zones where state.databaseSequence > position {
            events.append((state.databaseSequence, zone))
        }
        for (zone, ended) in endedZones where ended.databaseSequence > position {
            events.append((ended.databaseSequence, zone))
        }
        events.sort { $0.sequence < $1.sequence }
        var page = DatabaseChangesPage(
            changedZones: [], endedZones: [:], token: "", moreComing: events.count > count)
        for event in events.prefix(count) {
            switch endedZones[event.zone]?.error {
            case nil: page.changedZones.append(event.zone)
            case .zonePurged?: page.endedZones[event.zone] = .purged
            case .encryptedDataReset?: page.endedZones[event.zone] = .encryptedDataReset
            default: page.endedZones[event.zone] = .deleted
            }
        }
        let last = events.prefix(count).last?.sequence ?? position
        return (page, page.moreComing ? last : sequence)
    }
}
