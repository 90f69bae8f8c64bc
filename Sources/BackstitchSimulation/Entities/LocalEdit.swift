import Backstitch
import BackstitchTesting
import Foundation

/// What an application does in one transaction, decided by a seed alone.
struct LocalEdit: Sendable {
    let seed: UInt64
    let pool: RecordPool
    /// The version of the schema that the application has.
    let schema: SimulatedSchema
    /// Whether a value may be larger than small services take.
    let mayBeLarge: Bool
    /// Files that no record holds yet.
    var files: [Asset] = []

    /// Does it, and tells what was done.
    func perform(_ transaction: borrowing WriteTransaction) throws -> [String] {
        var generator = SeededGenerator(seed: seed)
        var done: [String] = []
        let count = generator.chance(0.3) ? 2 + generator.below(4) : 1
        for _ in 0..<count {
            switch schema {
            case .current: done.append(try step(transaction, &generator))
            case .old: done.append(try oldStep(transaction, &generator))
            case .keyed: done.append(try keyedStep(transaction, &generator))
            case .files: done.append(try fileStep(transaction, &generator))
            }
        }
        return done
    }

    func step(
        _ transaction: borrowing WriteTransaction, _ generator: inout SeededGenerator
    ) throws -> String {
        let kind = generator.pick([RecordPool.Kind.folder, .note, .note, .note, .tag, .pair])
        let name = pool.name(kind, &generator)
        let isDelete = generator.chance(0.15)
        switch kind {
        case .folder:
            let id = SimulatedFolder.ID(name)
            if isDelete { return try delete(id, transaction) }
            var folder =
                try read(id, transaction) ?? SimulatedFolder(id: id, name: generator.text())
            if generator.chance(0.5) { folder.name = generator.text() }
            if generator.chance(0.4) {
                folder.parent = pool.target(.folder, &generator).map { .init($0) }
            }
            if generator.chance(0.3) {
                folder.cover = pool.target(.note, &generator).map { .init($0) }
            }
            return "save folder \(name): \(try transaction.save(folder))"
        case .note:
            let id = SimulatedNote.ID(name)
            if isDelete { return try delete(id, transaction) }
            var note = try read(id, transaction) ?? generator.note(id)
            if generator.chance(0.9) { generator.change(&note, pool, mayBeLarge: mayBeLarge) }
            return "save note \(name): \(try transaction.save(note))"
        case .tag:
            let id = SimulatedTag.ID(name)
            if isDelete { return try delete(id, transaction) }
            var tag = try read(id, transaction) ?? SimulatedTag(id: id, label: generator.text())
            if generator.chance(0.5) { tag.label = generator.text() }
            if generator.chance(0.5) {
                tag.note = pool.target(.note, &generator).map { .init($0) }
            }
            if generator.chance(0.3) {
                tag.other = pool.target(.tag, &generator).map { .init($0) }
            }
            return "save tag \(name): \(try transaction.save(tag))"
        case .pair:
            let id = SimulatedPair.ID(name)
            if isDelete { return try delete(id, transaction) }
            // Two at once, each needing the other.
            let other = SimulatedPair.ID(pool.name(.pair, &generator))
            if generator.chance(0.5) {
                try transaction.save(
                    SimulatedPair(id: id, label: generator.text(), partner: other))
                try transaction.save(
                    SimulatedPair(id: other, label: generator.text(), partner: id))
                return "save pairs \(name), \(other)"
            }
            let partner = generator.chance(0.5) ? other : nil
            let pair = SimulatedPair(id: id, label: generator.text(), partner: partner)
            return "save pair \(name): \(try transaction.save(pair))"
        case .badge, .holder, .seat, .photo, .caption:
            preconditionFailure("\(kind) has its own step.")
        }
    }

    /// What an application with natural keys does: mostly it looks for one before it makes one.
    private func keyedStep(
        _ transaction: borrowing WriteTransaction, _ generator: inout SeededGenerator
    ) throws -> String {
        if generator.chance(0.15) { return try step(transaction, &generator) }
        let kind = generator.pick([RecordPool.Kind.badge, .badge, .badge, .holder, .holder, .seat])
        let name = pool.name(kind, &generator)
        let isDelete = generator.chance(0.12)
        let target = pool.target(.badge, &generator).map { SimulatedBadge.ID($0) }
        switch kind {
        case .holder:
            let id = SimulatedHolder.ID(name)
            if isDelete { return try delete(id, transaction) }
            var holder =
                try read(id, transaction) ?? SimulatedHolder(id: id, label: generator.text())
            if generator.chance(0.4) { holder.label = generator.text() }
            if generator.chance(0.6) { holder.badge = target }
            return "save holder \(name): \(try transaction.save(holder))"
        case .seat:
            let id = SimulatedSeat.ID(name)
            if isDelete { return try delete(id, transaction) }
            var seat = try read(id, transaction) ?? SimulatedSeat(id: id)
            if generator.chance(0.5) { seat.label = generator.text() }
            if generator.chance(0.6) { seat.badge = target }
            return "save seat \(name): \(try transaction.save(seat))"
        default:
            let id = SimulatedBadge.ID(name)
            if isDelete { return try delete(id, transaction) }
            var badge = try badge(id, transaction, &generator)
            let isCleared = generator.chance(0.2)
            if generator.chance(0.4) { badge.color = isCleared ? nil : generator.text() }
            if generator.chance(0.4) { badge.rank = isCleared ? nil : generator.below(9) }
            if generator.chance(0.2) { badge.next = target }
            return "save badge \(badge.id) \(badge.code): \(try transaction.save(badge))"
        }
    }

    /// The badge of a name, or the one that has its code, or a new one.
    private func badge(
        _ id: SimulatedBadge.ID, _ transaction: borrowing WriteTransaction,
        _ generator: inout SeededGenerator
    ) throws -> SimulatedBadge {
        let code = generator.code()
        let isLookedFor = generator.chance(0.8)
        if var badge = try read(id, transaction) {
            if generator.chance(0.3) { badge.code = code }
            return badge
        }
        let same = Query<SimulatedBadge>().where(#Predicate { $0.code == code })
        if isLookedFor, let badge = try transaction.fetch(same).first { return badge }
        return SimulatedBadge(id: id, code: code)
    }

    /// What an application of the first version does.
    private func oldStep(
        _ transaction: borrowing WriteTransaction, _ generator: inout SeededGenerator
    ) throws -> String {
        let kind = generator.pick([RecordPool.Kind.folder, .note, .note, .note])
        let name = pool.name(kind, &generator)
        let isDelete = generator.chance(0.15)
        if kind == .folder {
            let id = OldFolder.ID(name)
            if isDelete { return try delete(id, transaction) }
            var folder = try read(id, transaction) ?? OldFolder(id: id, name: generator.text())
            if generator.chance(0.5) { folder.name = generator.text() }
            if generator.chance(0.4) {
                folder.parent = pool.target(.folder, &generator).map { .init($0) }
            }
            return "save old folder \(name): \(try transaction.save(folder))"
        }
        let id = OldNote.ID(name)
        if isDelete { return try delete(id, transaction) }
        var note = try read(id, transaction) ?? generator.oldNote(id)
        if generator.chance(0.9) { generator.change(&note, pool) }
        return "save old note \(name): \(try transaction.save(note))"
    }

    /// The record; nil if there is none, or what there is can't be read as its type.
    func read<Model: Entity>(
        _ id: EntityID<Model>, _ transaction: borrowing WriteTransaction
    ) throws -> Model? {
        do {
            return try transaction.find(Model.self, id)
        } catch let error as StoreError where error.code == .unreadable {
            return nil
        }
    }

    func delete<Model: Entity>(
        _ id: EntityID<Model>, _ transaction: borrowing WriteTransaction
    ) throws -> String {
        do {
            return "delete \(id): \(try transaction.delete(id))"
        } catch let error as StoreError where error.code == .deleteDenied {
            return "delete \(id): denied"
        }
    }
}
