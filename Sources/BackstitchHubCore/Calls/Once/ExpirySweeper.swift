import Threading

/// Removes what is due: in the partition that is written to, and now and then in others.
struct ExpirySweeper: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let assets: any HubFiles
    let deleter: Deleter
    let pool: WorkPool
    let sweepRound = SweepRound()

    /// Removes what is due of a partition at this time, in a transaction that writes something else.
    func sweep(of partition: Partition) -> @Sendable (any HubWriting) throws -> Void {
        let (assets, limits, now) = (assets, configuration.limits, configuration.now)
        return { transaction in
            try Expiry(
                transaction: transaction, partition: partition, assets: assets, limits: limits,
                now: now
            ).run()
        }
    }

    /// Looks at some more databases every few writes, and removes what is due in the first one that has
    /// something, at which the next look begins.
    ///
    /// A failure is logged and nothing else: the write that this follows is done.
    func sweepOthers() async {
        removeObjectsSoon()
        guard storage.cleansUp, let start = sweepRound.nextLook() else { return }
        await sweep(from: start)
    }

    /// As ``sweepOthers()``, some time after this returns, when others wrote.
    func sweepSoon(after changed: ChangedPartitions) {
        removeObjectsSoon()
        guard storage.cleansUp, let start = sweepRound.nextLook(after: changed.writes) else {
            return
        }
        pool.handOver { Task { await sweep(from: start) } }
    }

    /// Removes the objects whose turn has come, some time after this returns: the bucket may be slow.
    func removeObjectsSoon() {
        guard let objects = assets.objects,
            let keys = objects.begin(now: configuration.steadyNow)
        else { return }
        pool.handOver {
            Task {
                var hasFailed = false
                do { try await removeObjects(keys, on: objects.pool) } catch {
                    hasFailed = true
                    configuration.log(failure: error, call: "objects")
                }
                objects.end(hasFailed: hasFailed, now: configuration.steadyNow)
            }
        }
    }

    /// Removes uploads that were cut, once an hour, some time after this returns: the disk may be slow.
    ///
    /// - Parameter now: In milliseconds of the steady clock.
    func removeOldUploads(now: Int64) {
        guard sweepRound.beginsHour(now: now) else { return }
        SystemThread.detach { [assets] in assets.removeOldUploads() }
    }

    /// Removes objects, and then their rows. A row counts only as it was committed.
    func removeObjects(_ keys: [HubKey], on threads: WorkPool) async throws {
        for key in keys {
            guard let partition = key.partition else { continue }
            let row: ObjectRow? = try await storage.read { transaction in
                transaction.expect { [.key(key)] }
                return try transaction.row(key)
            }
            guard let row, row.state == .doomed, let file = row.file(key) else { continue }
            let work = RequestWork()
            _ = try await threads.run(.scan, work) { [assets] in
                work.countFile(bytes: 0)
                return try assets.remove(file)
            }
            try await storage.write(to: [partition], expecting: { [.key(key)] }) {
                try $0.delete(key)
            }
        }
    }

    private func sweep(from start: HubKey) async {
        do {
            let (due, next, hasDoomed) = try await nextDue(from: start)
            if hasDoomed {
                _ = try await deleter.eraseSome()
                removeObjectsSoon()
            }
            guard let (name, partition) = due else { return sweepRound.goOn(at: next) }
            // Past it, in case it is damaged.
            sweepRound.goOn(at: name.adding([0]))
            let (sweep, limits, assets, now) = (
                sweep(of: partition), configuration.limits, assets, configuration.now
            )
            try await storage.write(
                to: [partition],
                expecting: {
                    Expiry.expected(in: partition) + ZoneWriter.expected(in: partition)
                }
            ) { transaction in
                try sweep(transaction)
                try ZoneWriter(
                    transaction: transaction, partition: partition, now: now, limits: limits,
                    assets: assets
                ).removeEndedZones()
            }
            // There may be more.
            sweepRound.goOn(at: name)
        } catch {
            configuration.log(failure: error, call: "sweep")
        }
    }

    /// The first database that has something due, of some from a name on, and the name after those; and
    /// whether databases are to be erased.
    private func nextDue(
        from start: HubKey
    ) async throws -> (
        due: (name: HubKey, partition: Partition)?, next: HubKey?, hasDoomed: Bool
    ) {
        let now = configuration.now
        return try await storage.read { transaction in
            let names = HubKey(.global, .databaseName)
            let count = SweepRound.writesPerLook
            let doomed = HubKey(.global, .doomed)
            transaction.expect {
                [.first(count + 1, of: names, from: start), .first(1, of: doomed)]
            }
            var hasDoomed = false
            try unsafe transaction.scan(doomed, from: nil) { _, _ in
                hasDoomed = true
                return false
            }
            var databases: [(name: HubKey, partition: Partition)] = []
            try unsafe transaction.scan(names, from: start) { key, value in
                let row = try unsafe DatabaseNameRow(stored: Array(value))
                unsafe databases.append((HubKey(bytes: key), row.partition))
                return databases.count <= count
            }
            let looked = databases.prefix(count)
            transaction.expect {
                looked.flatMap {
                    Expiry.expected(in: $0.partition) + ZoneWriter.expected(in: $0.partition)
                }
            }
            let due = try looked.first { try transaction.hasDue($0.partition, now: now) }
            return (due, databases.dropFirst(count).first?.name, hasDoomed)
        }
    }
}

extension ChangedPartitions {
    /// How many writes it tells of at least.
    fileprivate var writes: Int {
        switch self {
        case .some(let partitions): partitions.count
        case .all: 1
        }
    }
}

extension HubReading {
    /// Whether something of a database is due, or was left of a zone.
    fileprivate func hasDue(_ partition: Partition, now: Int64) throws -> Bool {
        let expiries = HubKey(partition, .expiry)
        var isDue = false
        try unsafe scan(expiries, from: nil) { key, _ in
            isDue = unsafe key.number(behind: expiries) <= UInt64(max(0, now))
            return false
        }
        if isDue { return true }
        try unsafe scan(HubKey(partition, .endedZone), from: nil) { _, _ in
            isDue = true
            return false
        }
        return isDue
    }
}
