import BackstitchCore
import BackstitchLog
import LMDB

extension SalvageBuilder {
    /// What was collected of one record.
    private struct Found {
        /// Entity and record key.
        let name: [UInt8]
        var sequences: [UInt64] = []
        /// Whether something is there that is surely no old copy.
        var isCurrent = false

        var entity: EntityNumber { EntityNumber(UInt16(name[0]) << 8 | UInt16(name[1])) }
    }

    /// Decides for each record what is kept of it.
    func salvageRecords() throws {
        var found: Found?
        try source.withCursor(in: places[SalvageSource.Place.records]) { records in
            try source.withCursor(in: places[SalvageSource.Place.rows]) { rows in
                var isRow = try rows.first()
                while try records.next() {
                    let key = unsafe records.key
                    let name = unsafe key.part(0..<key.count - 8)
                    if found.map({ unsafe !$0.name.elementsEqual(name) }) == true {
                        try salvage(&found, &rows, &isRow)
                    }
                    if found == nil { found = unsafe Found(name: Array(name)) }
                    unsafe found?.sequences.append(key.part(key.count - 8..<key.count).sequence)
                    if unsafe records.value.first == 0 { found?.isCurrent = true }
                }
                try salvage(&found, &rows, &isRow)
                while isRow { try salvageRow(&rows, &isRow) }
            }
        }
    }

    /// Decides for a record that has operations, after those before it that only have a row.
    private func salvage(
        _ found: inout Found?, _ rows: inout Cursor, _ isRow: inout Bool
    ) throws {
        guard let record = found else { return }
        found = nil
        while isRow, unsafe rows.key.lexicographicallyPrecedes(record.name) {
            try salvageRow(&rows, &isRow)
        }
        let hasRow = unsafe isRow && rows.key.elementsEqual(record.name)
        try unsafe salvage(record, row: hasRow ? rows.value : nil)
        if hasRow { isRow = try rows.next() }
    }

    private func salvageRow(_ rows: inout Cursor, _ isRow: inout Bool) throws {
        try unsafe salvage(Found(name: Array(rows.key)), row: rows.value)
        isRow = try rows.next()
    }

    private func salvage(_ record: Found, row: UnsafeRawBufferPointer?) throws {
        var operations: [OperationView] = []
        for sequence in record.sequences {
            let bytes = try unsafe TableKey.withSequence(sequence) {
                try unsafe source.get($0, in: places[SalvageSource.Place.operations])
            }
            guard let bytes = unsafe bytes else { continue }
            unsafe operations.append(try OperationView(bytes, sequence: sequence, verifies: false))
        }
        let journals = operations.filter { $0.kind == .journal }
        for journal in journals { try keep(journal) }
        operations.removeAll { $0.kind == .journal }
        guard catalog.table(record.entity) != nil else {
            return try setAside(operations, "the catalog lacks its entity")
        }
        let isRowCurrent = unsafe row?.first == 0
        let isKnown = record.isCurrent || isRowCurrent
        guard isKnown || operations.contains(where: { $0.sequence > bounds.through }) else {
            return try setAside(operations, "it was compacted, and may be of a record that ended")
        }
        let stored = try unsafe row.flatMap { bytes -> RecordSalvage.StoredRow? in
            guard let view = unsafe RowView(bytes.part(1..<bytes.count)) else { return nil }
            return RecordSalvage.StoredRow(
                view: view, parked: try parked(record.name), isCurrent: isRowCurrent)
        }
        let salvage = RecordSalvage(
            operations: operations, row: stored, areRowsWhole: extent.areRowsWhole)
        try carryOut(salvage, record, operations)
    }

    private func parked(_ name: [UInt8]) throws -> [UInt8]? {
        try unsafe name.withUnsafeBytes { key in
            try unsafe source.get(key, in: places[SalvageSource.Place.parked]).map {
                unsafe Array($0)
            }
        }
    }

    // MARK: Carrying out

    private func carryOut(
        _ salvage: RecordSalvage, _ record: Found, _ operations: [OperationView]
    ) throws {
        guard
            let key = unsafe record.name.withUnsafeBytes({
                unsafe RecordKey(reading: $0.part(2..<$0.count))
            })
        else { return }
        note(salvage, record.entity, key)
        let kept = Set(salvage.kept)
        let slot = salvage.baseline?.sequence ?? 0
        for (place, operation) in operations.enumerated() {
            if kept.contains(place) {
                try keep(operation)
                continue
            }
            try setAside([operation], Self.reason(salvage.fate))
            if unsafe operation.conflictBytes != nil, operation.sequence != slot {
                try putJournal(of: operation)
            }
        }
        if let baseline = salvage.baseline {
            let old = operations.first { $0.sequence == slot && $0.kind.changesContent }
            try put(baseline, record.entity, key, inPlaceOf: old)
        }
        if salvage.isUncertain { uncertain.append(StoredRecordID(entity: record.entity, key: key)) }
    }

    private func note(
        _ salvage: RecordSalvage, _ entity: EntityNumber, _ key: RecordKey
    ) {
        func name() -> String { "\(catalog.table(entity)?.name ?? "")/\(key)" }
        switch salvage.fate {
        case .whole: if salvage.result != nil { report.recordsWhole += 1 }
        case .current: report.recordsCurrent.add(name())
        case .older: report.recordsOlder.add(name())
        case .lost: report.recordsLost.add(name())
        case .ended: break
        }
        if salvage.losesEdits { report.editsLost.add(name()) }
    }

    private static func reason(_ fate: RecordSalvage.Fate) -> String {
        switch fate {
        case .whole, .current: "the record's row tells its effect"
        case .ended: "the record does not exist any more"
        case .older: "its effect is part of what is left of the record"
        case .lost: "too little is left of the record"
        }
    }

    private func keep(_ operation: OperationView) throws {
        try unsafe TableKey.withSequence(operation.sequence) { key in
            guard let bytes = try unsafe source.get(key, in: places[SalvageSource.Place.operations])
            else { return }
            try unsafe target.put(key, bytes, in: databases.log)
        }
        report.operationsKept += 1
        lastKept = max(lastKept, operation.sequence)
    }

    private func setAside(_ operations: [OperationView], _ reason: String) throws {
        for operation in operations {
            report.operationsSetAside += 1
            try unsafe TableKey.withSequence(operation.sequence) { key in
                guard
                    let bytes = try unsafe source.get(
                        key, in: places[SalvageSource.Place.operations])
                else { return }
                try unsafe setAside(operation.sequence, bytes, reason)
            }
        }
    }

    private func putJournal(of operation: OperationView) throws {
        output.removeAll()
        OperationEncoder.begin(.journal, inPlaceOf: operation, into: &output)
        try putOutput(at: operation.sequence)
    }

    private func put(
        _ baseline: RecordSalvage.Baseline, _ entity: EntityNumber, _ key: RecordKey,
        inPlaceOf old: OperationView?
    ) throws {
        let sequence = baseline.sequence
        let flags: OperationHeader.Flags =
            baseline.row.header.flags.contains(.isUnreadable) ? .isUnreadable : []
        output.removeAll()
        if let old {
            OperationEncoder.begin(.baseline, inPlaceOf: old, flags: flags, into: &output)
        } else {
            try OperationEncoder.begin(
                OperationHeader(
                    kind: .baseline, origin: .local, flags: flags, entity: entity,
                    transaction: sequence, clock: try clock(before: sequence), previous: 0,
                    key: key),
                into: &output)
        }
        baseline.row.append(to: &output)
        try putOutput(at: sequence)
    }

    private func putOutput(at sequence: UInt64) throws {
        OperationEncoder.end(sequence: sequence, into: &output)
        try unsafe TableKey.withSequence(sequence) {
            try unsafe target.put($0, output.bytes, in: databases.log)
        }
        lastKept = max(lastKept, sequence)
    }
}
