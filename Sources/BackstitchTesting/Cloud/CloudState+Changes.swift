import BackstitchCore

extension CloudState {
    /// One page of a zone's feed.
    mutating func zoneChanges(
        _ zone: ZoneID, _ text: String?, _ limit: Int, _ fields: Set<String>?,
        _ types: Set<String>?, _ user: String, faults: inout RequestFaults
    ) -> Result<ServiceReply, ServiceError> {
        guard let state = databases[user]?.zones[zone] else {
            return .failure(absence(of: zone, user))
        }
        guard limit > 0 else {
            return .failure(ServiceError(.invalidRequest, "a page has one record or more"))
        }
        // What the holder knows is lost, which is not what an expired token says.
        guard !hasLost(text) else { return .failure(Self.zoneLost) }
        var token = token(of: state)
        if let text {
            guard let sent = token.continued(at: text, floor: state.floor) else {
                return .failure(Self.tokenExpired)
            }
            token = sent
        }
        var page = ZoneChangesPage(
            records: [], deletions: [], token: text ?? token.text, moreComing: false)
        let count = faults.pageSize(min(limit, limits.recordsPerPage))
        if faults.takeStaleRead() {
            page.records = state.staleRecords(after: token.sequence, count: count, fields: fields)
            page.leaveOutTypes(but: types)
            return .success(.zoneChanges(page))
        }
        if let next = faults.takeEmptyPage(after: page.token) {
            (page.token, page.moreComing) = (next, true)
            return .success(.zoneChanges(page))
        }
        let stretch = state.stretch(
            after: token.sequence, count: count, fields: fields,
            deletionsCarryType: options.deletionsCarryType)
        token.sequence = stretch.sequence
        page.records = stretch.records
        page.leaveOutTypes(but: types)
        page.deletions = stretch.deletions
        page.token = token.text
        page.moreComing = stretch.moreComing
        faults.reorder(&page)
        faults.withhold(from: &page)
        return .success(.zoneChanges(page))
    }

    /// One page of the list of changed zones.
    mutating func databaseChanges(
        _ text: String?, _ user: String, faults: inout RequestFaults
    ) -> Result<ServiceReply, ServiceError> {
        guard let database = databases[user] else { return .failure(Self.tokenExpired) }
        var token = ChangeToken(
            .database, epoch: epoch, owner: database.number, origin: database.sequence, sequence: 0,
            mark: history.last)
        if let text {
            guard !hasLost(text), let sent = token.continued(at: text, floor: database.floor) else {
                return .failure(Self.tokenExpired)
            }
            token = sent
        }
        var page = DatabaseChangesPage(
            changedZones: [], endedZones: [:], token: text ?? token.text, moreComing: false)
        if faults.takeStaleRead() { return .success(.databaseChanges(page)) }
        if let next = faults.takeEmptyPage(after: page.token) {
            (page.token, page.moreComing) = (next, true)
            return .success(.databaseChanges(page))
        }
        let count = faults.pageSize(limits.recordsPerPage)
        let (changes, sequence) = database.changes(after: token.sequence, count: count)
        token.sequence = sequence
        page = changes
        page.token = token.text
        faults.reorder(&page)
        return .success(.databaseChanges(page))
    }

    /// The token of a holder who has seen nothing of a zone.
    private func token(of zone: ZoneState) -> ChangeToken {
        ChangeToken(
            .zone, epoch: epoch, owner: zone.incarnation, origin: zone.sequence, sequence: 0,
            mark: history.last)
    }

    /// The token for the same place that belongs to the state as it is now. One that has expired gives place to
    /// one of no feed, which stays expired; what is no token stays as it is.
    func renewed(_ text: String?, of zone: ZoneID, _ user: String) -> String? {
        guard let text, ChangeToken(text) != nil, let state = databases[user]?.zones[zone] else {
            return text
        }
        var token = token(of: state)
        if let sent = token.continued(at: text, floor: state.floor) { return sent.text }
        token.owner = 0
        return token.text
    }

    static let zoneLost = ServiceError(.zoneNotFound, "Zone does not exist")

    static let tokenExpired = ServiceError(
        .tokenExpired, "Unknown sync continuation type")
}

extension ZoneChangesPage {
    /// Leaves out the records of types that were not asked for; nil asks for all.
    fileprivate mutating func leaveOutTypes(but types: Set<String>?) {
        guard let types else { return }
        records.removeAll { !types.contains($0.recordType) }
    }
}
