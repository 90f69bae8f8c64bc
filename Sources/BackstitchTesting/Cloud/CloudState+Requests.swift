import BackstitchCore

extension CloudState {
    /// Carries out a request of a user and answers it.
    mutating func perform(
        _ request: ServiceRequest, from caller: Caller, faults: inout RequestFaults
    ) -> Result<ServiceReply, ServiceError> {
        guard let user = caller.user else {
            return .failure(ServiceError(.notAuthenticated, "no user is signed in"))
        }
        requestCount += 1
        openDatabase(of: user)
        switch request {
        case .modify(let operations, let zone, let atomic, let token):
            guard databases[user]?.zones[zone] == nil || !hasLost(token) else {
                return .failure(Self.zoneLost)
            }
            return modify(operations, zone, atomic, user, caller.device, faults: &faults).map {
                .modified($0, token: renewed(token, of: zone, user))
            }
        case .lookup(let names, let zone):
            return lookUp(names, zone, user, faults: &faults)
        case .databaseChanges(let token):
            return databaseChanges(token, user, faults: &faults)
        case .zoneChanges(let zone, let token, let limit, let fields, let types):
            return zoneChanges(zone, token, limit, fields, types, user, faults: &faults)
        case .createZone(let zone): return createZone(zone, user, caller.device)
        case .deleteZone(let zone):
            guard end(zone, of: user, error: .zoneNotFound) else {
                return .failure(ServiceError(.zoneNotFound, "zone does not exist"))
            }
            return .success(.done)
        case .createSubscription(let subscriptionID, let zone):
            return createSubscription(subscriptionID, zone, user, caller.device)
        case .currentUser: return .success(.user(user))
        }
    }

    private mutating func modify(
        _ operations: [RecordModification], _ zone: ZoneID, _ atomic: Bool, _ user: String,
        _ device: String, faults: inout RequestFaults
    ) -> Result<[ModificationResult], ServiceError> {
        let before = databases[user]?.zones[zone]?.sequence
        var imposed = faults.imposed(on: operations)
        if options.keepsFieldTypes {
            // What comes first in the request counts for what follows.
            var types = fieldTypes
            for (index, operation) in operations.enumerated() where imposed[index] == nil {
                imposed[index] = types.violation(of: operation)
            }
        }
        let stored = storingFiles(of: operations, in: zone, of: user, imposed: &imposed)
        let rules = faults.tighten(rules, recordCount: operations.count)
        stamp.writer = device
        let outcome = databases[user]?.zones[zone]?.modify(
            stored, atomic: atomic, rules: rules, imposed: imposed,
            requestNumber: requestCount, stamp: &stamp)
        guard let outcome else { return .failure(absence(of: zone, user)) }
        if case .success(let results) = outcome {
            useUpReceipts(of: operations, results)
            for (operation, result) in zip(operations, results) where !result.isFailure {
                fieldTypes.note(operation)
            }
        }
        if let before, let changed = databases[user]?.zones[zone], changed.sequence != before {
            stamp.noteEnds(changed.endedTags(after: before))
            noteChange(in: zone, of: user, by: device)
        }
        return outcome.map { faults.withoutServerRecords($0) }
    }

    private mutating func lookUp(
        _ names: [String], _ zone: ZoneID, _ user: String, faults: inout RequestFaults
    ) -> Result<ServiceReply, ServiceError> {
        guard let state = databases[user]?.zones[zone] else {
            return .failure(absence(of: zone, user))
        }
        let limits = faults.tighten(limits, recordCount: names.count)
        guard names.count <= limits.operationsPerRequest else {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    "\(names.count) records of \(limits.operationsPerRequest)"))
        }
        if let stale = faults.staleLookup(names, in: state) {
            return .success(.found(addingAddresses(to: stale)))
        }
        let imposed = faults.imposed(onNames: names)
        let results = names.enumerated().map { index, name in
            if let error = imposed[index] { return LookupResult.failed(error) }
            return state.record(named: name).map(LookupResult.found) ?? .notFound
        }
        return .success(.found(addingAddresses(to: results)))
    }

    private mutating func createZone(
        _ zone: ZoneID, _ user: String, _ device: String
    ) -> Result<ServiceReply, ServiceError> {
        guard zone.ownerName == nil || zone.ownerName == user else {
            return .failure(ServiceError(.permissionDenied, "the zone is another user's"))
        }
        guard ServiceNames.isRecordName(zone.zoneName) else {
            return .failure(ServiceError(.invalidRequest, "not a zone name"))
        }
        guard databases[user]?.zones[zone] == nil else { return .success(.done) }
        ownerCount += 1
        databases[user]?.zones[zone] = ZoneState(incarnation: ownerCount)
        databases[user]?.endedZones[zone] = nil
        noteChange(in: zone, of: user, by: device)
        return .success(.done)
    }

    private mutating func createSubscription(
        _ subscriptionID: String, _ zone: ZoneID, _ user: String, _ device: String
    ) -> Result<ServiceReply, ServiceError> {
        guard databases[user]?.zones[zone] != nil else {
            return .failure(absence(of: zone, user))
        }
        guard !subscriptionID.isEmpty else {
            return .failure(ServiceError(.invalidRequest, "not a subscription ID"))
        }
        if let existing = databases[user]?.subscriptions[subscriptionID] {
            guard existing.zone == zone else {
                return .failure(
                    ServiceError(.invalidRequest, "the subscription is to another zone"))
            }
            databases[user]?.subscriptions[subscriptionID]?.devices.insert(device)
        } else {
            databases[user]?.subscriptions[subscriptionID] = DatabaseState.Subscription(
                zone: zone, devices: [device])
        }
        return .success(.done)
    }

    func absence(of zone: ZoneID, _ user: String) -> ServiceError {
        databases[user]?.absence(of: zone)
            ?? ServiceError(.zoneNotFound, "zone does not exist")
    }
}
