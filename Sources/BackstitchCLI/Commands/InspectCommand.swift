import Backstitch
import Foundation
import Terminal

/// Tells what a store holds.
struct InspectCommand: Command {
    let name = "inspect"
    let summary = "Tells what a store holds: entities, log, outbox, sizes."
    let syntax = Syntax(
        operands: [.store], options: [.json],
        notes: """
            Nothing in the store is changed.

            JSON: one object.
              store          the path as given
              storeID        the identity of the store
              formatVersion  the version of the store's format
              entities       of each: name, declared (by the schema that opened the store last),
                             records, tombstones (deleted here, not pushed yet),
                             unreadable (left out of queries: values don't fit the schema)
              log            operations, lastSequence, compactedThrough (operations up to there may be
                             missing; 0 where none are)
              outbox         records and operations that wait to be pushed, or would if the store
                             were synchronised
              parked         of each record that the service refused: entity, record, sequence,
                             reason; at most \(StoreInfo.parkedMax)
              parkedCount    the number of all of them
              conflicts      the number of conflicts in the journal
              incompleteCount  the records of the service that could not be stored whole, because there
                             are too many names of types or fields
              undeliveredCount  the records that the service could not deliver so far; they are looked
                             up again
              zones          of each, the store's own first: name, owner where that is not you,
                             database (private, shared, public), records, pendingRecords,
                             parkedRecords, setUp, hasToken, needsPull, fullFetch, and suspension
                             where it is suspended
              projections    of each: name, version, checkpoint (the last operation that its view has),
                             complete (otherwise it is being built), entries, and failedAt and
                             reason where it stands still
              space          of the data file: fileBytes (the length), allocatedBytes (what it takes up
                             on the disk), mapBytes, pageBytes, usedPages, freePages; journalBytes (what
                             the journal takes up on the disk), contentBytes (of the files of records)
              syncs          whether the store may be synchronised (StoreConfiguration.syncs)
              engine         what the engine does that synchronises the store, if one did: running,
                             zone, status, code (why it is blocked or suspended), nextAttempt,
                             trigger (of the round that runs); while it runs, queue with next (why
                             the next round begins), due, notBefore, calls (that wait), offline, and
                             lanes of files with name, running, waiting, delayed, nextAttempt, done,
                             failed, error; newest first, rounds with trigger, date,
                             milliseconds, pulled, pushed, conflicts, parked, error, and requests
                             with number, call, date, milliseconds (none while it is under way),
                             records, error
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let store = try open(toShow: path)
        defer { store.close() }
        let info = try store.info()
        let contents = store.assets.usage()
        let engine = EngineDocument(of: store)
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(InspectDocument(info, engine, contents: contents, path: path)))
        } else {
            for line in Self.lines(info, engine, contents, path: path) {
                console.output.line(line)
            }
        }
        return .success
    }

    static func lines(
        _ info: StoreInfo, _ engine: EngineDocument?, _ contents: StoreAssets.Usage, path: String
    ) -> [String] {
        let space = info.space
        let contentBytes = Int(contents.bytes)
        let allBytes = space.allocatedBytes + space.journalBytes + contentBytes
        let outbox = info.outbox
        var lines = Table.lines([
            ["Store", path.printable],
            ["Identity", info.storeID.uuidString],
            ["Format", "\(info.formatVersion)"],
            ["Log", logText(info)],
            ["Outbox", outboxText(info)],
            ["Parked", outbox.parkedRecords.counted("record")],
            ["Conflicts", outbox.conflicts.grouped],
            ["Incomplete", info.incompleteRecords.counted("record")],
            ["Undelivered", info.undeliveredRecords.counted("record")],
            [
                "Space",
                "\(allBytes.asBytes) on disk: \(space.allocatedBytes.asBytes) of data, "
                    + "\(space.journalBytes.asBytes) of journal, \(contentBytes.asBytes) in "
                    + contents.files.counted("file"),
            ],
            [
                "Data file",
                "\(space.fileBytes.asBytes) long: \(space.usedPages.counted("page")) of "
                    + "\(space.pageBytes) bytes in use, \(space.freePages.grouped) free",
            ],
            ["Map", space.mapBytes.asBytes],
            ["Engine", engine?.text ?? "none has run"],
        ])
        let hasUnreadable = info.entities.contains { $0.unreadable > 0 }
        lines += section(
            ["Entity", "Records", "Tombstones"] + (hasUnreadable ? ["Unreadable"] : []),
            info.entities.map { entity in
                let mark = entity.isDeclared ? "" : " (not declared)"
                return [
                    entity.name.printable + mark, entity.records.grouped,
                    entity.tombstones.grouped,
                ] + (hasUnreadable ? [entity.unreadable.grouped] : [])
            }, rightAligned: [1, 2, 3])
        lines += section(
            ["Zone", "Records", "Pending", "Parked", "State"],
            info.zones.map { zone in
                [
                    ZoneName(name: zone.name ?? "", owner: zone.owner).text.printable,
                    zone.records.grouped, zone.pendingRecords.grouped, zone.parkedRecords.grouped,
                    state(of: zone),
                ]
            }, rightAligned: [1, 2, 3])
        lines += section(
            ["Projection", "Version", "Checkpoint", "Entries", "State"],
            info.projections.map { projection in
                [
                    projection.name.printable, "\(projection.version)", "\(projection.checkpoint)",
                    projection.entries.grouped,
                    state(of: projection, lastSequence: info.lastSequence),
                ]
            }, rightAligned: [1, 2, 3])
        lines += section(
            ["Parked record", "Entity", "Reason"],
            info.parked.map {
                [$0.record.name.printable, $0.record.entity.printable, $0.reason.printable]
            })
        return lines
    }

    private static func logText(_ info: StoreInfo) -> String {
        let text = "\(info.operations.counted("operation")), the last is \(info.lastSequence)"
        guard info.compactedThrough > 0 else { return text }
        return text + ", compacted up to \(info.compactedThrough)"
    }

    private static func outboxText(_ info: StoreInfo) -> String {
        let records = info.outbox.pendingRecords.counted("record")
        guard info.syncs else { return "none: the store never syncs. It would push \(records)" }
        let operations = info.outbox.pendingOperations.counted("operation")
        return "\(records) to push, with \(operations)"
    }

    private static func section(
        _ title: [String], _ rows: [[String]], rightAligned: Set<Int> = []
    ) -> [String] {
        rows.isEmpty ? [] : [""] + Table.lines([title] + rows, rightAligned: rightAligned)
    }

    private static func state(
        of projection: StoreInfo.Projection, lastSequence: UInt64
    ) -> String {
        if let failure = projection.failure {
            return "failed at operation \(failure.sequence): \(failure.reason.printable)"
        }
        if !projection.isComplete { return "being built" }
        return projection.checkpoint == lastSequence ? "ready" : "behind"
    }

    private static func state(of zone: StoreInfo.Zone) -> String {
        var parts = [zone.isSetUp ? "set up" : "not set up"]
        parts.append(zone.hasToken ? "has a token" : "has no token")
        if zone.needsPull { parts.append("has changes to pull") }
        if zone.isFullFetch { parts.append("is being fetched anew") }
        if let suspension = zone.suspension { parts.append("suspended: \(suspension.printable)") }
        return parts.joined(separator: ", ")
    }
}
