import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// What an engine exchanges, as any thread may ask for it: a store and its zones.
struct EngineContext: Sendable {
    let store: Store
    let configuration: SyncConfiguration
    let clock: any StoreClock
    let events: EventHub
    /// Notes what the engine does, for other programs.
    let recorder: Locked<EngineRecorder>
    /// What the engine does.
    let status = Locked(SyncStatus.idle)
    /// The zone that the records were moved to by this engine; nil if they were not.
    let movedTo = Locked<String?>(nil)
    /// The slots of the zones of which what a selection held back was put in front of the outbox again.
    let lookedBack = Locked<Set<UInt8>>([])
    /// The names of the records that the running request carries.
    let inFlight = Locked<Set<String>>([])
    /// Whether the engine was stopped: no further request begins, of a round or of a transfer.
    let hasEnded = Locked(false)
    /// The bytes of memory that the largest pass so far took, roughly.
    let largestPass = Locked(0)

    init(store: Store, configuration: SyncConfiguration) {
        self.store = store
        self.configuration = configuration
        clock = configuration.clock ?? store.configuration.clock
        events = EventHub(monitor: store.configuration.monitor, clock: clock)
        recorder = Locked(EngineRecorder(store, zone: configuration.zoneName))
    }

    /// The configuration's zone, or the one that the records were moved to since.
    var zoneName: String { movedTo.withLock { $0 } ?? configuration.zoneName }

    /// The store's own zone.
    var own: ZonePlace { .own(zoneName) }

    /// The name of the subscription to the changes of the store's own zone.
    var subscriptionID: String {
        zoneName == configuration.zoneName
            ? configuration.subscriptionID : SyncConfiguration.subscriptionID(of: zoneName)
    }

    /// How many records and operations wait, by what keeps them.
    func pending() throws -> StoreInfo.Outbox {
        try store.read { transaction in
            let reader = transaction.reader
            return try StoreInfo.Outbox(
                reader, selection: configuration.selection.bound(to: reader),
                fromStart: looksBack(try reader.zoneState(own), in: own.slot))
        }
    }

    /// The last operations of the records that are neither parked nor held back.
    func lastOperations() throws -> [UInt64] {
        try store.read { transaction in
            let reader = transaction.reader
            let selection = try configuration.selection.bound(to: reader)
            return try OutboxFolder(reader, selection: selection).lastOperations()
        }
    }

    /// Whether operations before the outbox's floor may have to be pushed: what another selection
    /// held back, or the same one with another version of the schema.
    func looksBack(_ state: ZoneState, in slot: UInt8) -> Bool {
        guard state.holdsBack == true || !configuration.selection.isAll else { return false }
        return !lookedBack.withLock { $0.contains(slot) }
    }

    // MARK: Zones

    /// Gives a zone of the user its slot, unless it has one.
    ///
    /// - Parameter database: That of the engine's service.
    func makeZone(_ name: String, in database: DatabaseScope) async throws -> RecordID.Zone {
        try check(zoneName: name)
        guard database == .private else {
            throw SyncError(
                .invalidConfiguration,
                "The engine has the service of the \(database.rawValue) database, where it makes no zones. "
                    + "Give it the service of the private database.")
        }
        guard !own.id.zoneName.utf8.elementsEqual(name.utf8) else {
            throw SyncError(
                .invalidConfiguration,
                "'\(name)' is the store's own zone. Use RecordID.Zone.own, or choose another name.")
        }
        try checkZone()
        let slot = try await store.withLogWriter { log in
            log.catalogChanges.addZone(named: name, in: .private)
        }
        guard let slot else {
            throw StoreError(
                .tooManyZones,
                "The store has had \(CatalogZone.numbers.count) zones, and there is no place for another "
                    + "one. Use a zone that it has.")
        }
        return RecordID.Zone(slot: slot)
    }

    /// - Throws: `invalidConfiguration` if no zone can have the name.
    func check(zoneName: String) throws {
        guard let violation = SyncConfiguration.violation(ofZoneName: zoneName) else { return }
        throw SyncError(.invalidConfiguration, violation)
    }

    /// Lets the store's own zone be exchanged again.
    ///
    /// - Returns: Whether it was suspended.
    func endSuspension(erases: Bool) async throws -> Bool {
        try await store.withLogWriter { [own] log in
            try ZoneLoss(log, in: own.slot).endSuspension(of: own, erases: erases)
        }
    }

    /// Whether a notification is about the store's own zone.
    func isConcerned(by notification: SyncNotification) -> Bool {
        notification.concerns(
            own.id, subscriptionID: subscriptionID, containerID: configuration.containerID)
    }

    /// Shows what the engine does, here and to other programs.
    func show(_ machine: EngineMachine, nextAttempt: Int64?) {
        let (status, queue) = (machine.status, EngineReport.Queue(machine))
        self.status.withLock { $0 = status }
        let now = clock.milliseconds
        recorder.withLock { $0.note(status, nextAttempt: nextAttempt, queue, now: now) }
    }

    /// Tells everybody who reads events, and notes when rounds begin and end.
    func tell(_ event: SyncEngineEvent) {
        let now = clock.milliseconds
        switch event {
        case .started(let trigger): recorder.withLock { $0.begin(trigger, now: now) }
        case .finished(let report): recorder.withLock { $0.end(report, error: nil, now: now) }
        case .failed(let error):
            let cause = error.serviceError.map { ".\($0.code)" } ?? ""
            recorder.withLock { $0.end(nil, error: "\(error.code)\(cause)", now: now) }
        default: break
        }
        events.send(event)
    }

    // MARK: Mistakes that no later try mends

    /// Checks the configuration by itself and against the store.
    ///
    /// - Throws: `invalidConfiguration`.
    func checkConfiguration() throws {
        if let violation = configuration.violation {
            throw SyncError(.invalidConfiguration, violation)
        }
        let unknown = configuration.conflictRules.unknownNames(in: store.catalogSnapshot)
        guard unknown.isEmpty else {
            throw SyncError(
                .invalidConfiguration,
                "There are conflict rules for what the store does not have: "
                    + "\(unknown.joined(separator: ", ")). Correct their names.")
        }
        try checkZone()
    }

    /// Checks that the store may be synchronised, and belongs to no other zone.
    ///
    /// - Throws: `invalidConfiguration`.
    func checkZone() throws {
        guard try store.read({ try LogHorizon($0.reader).maySync }) else {
            throw SyncError(
                .invalidConfiguration,
                "The store was opened as one that never syncs. Open it with syncs: true in its "
                    + "configuration; all of its records are pushed then.")
        }
        let claims = try store.read { try ZoneClaims($0.reader) }
        guard let refusal = claims.refusal(of: zoneName) else { return }
        throw SyncError(.invalidConfiguration, refusal)
    }
}
