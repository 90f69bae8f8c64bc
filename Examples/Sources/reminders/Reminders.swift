import Backstitch
import BackstitchViews
import Foundation

@Entity struct Reminder {
    var id = ID()
    @Attribute(.indexed) var title: String
    var notes = ""
    var isDone = false
    @Attribute(.indexed) var due: Date?
    @Relationship(onDelete: .cascade) var list: ReminderList.ID?
}

@Entity struct ReminderList {
    var id = ID()
    @Attribute(.unique) var name: String
    @Relationship(inverse: \Reminder.list) var reminders: ToMany<Reminder>
}

/// A command line for reminders. `backstitch sync DIR …` brings them to other devices.
@main struct Reminders {
    static let search = TextIndex("search", TextSource(Reminder.self, \.title, \.notes))
    let store: Store

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { return print(usage) }
        let store = try Store(
            at: URL(filePath: arguments[0]), schema: StoreSchema(Reminder.self, ReminderList.self),
            configuration: StoreConfiguration(author: NSUserName(), projections: [search]))
        do {
            try await Reminders(store: store).run(arguments[1], Array(arguments.dropFirst(2)))
        } catch let error as StoreError {
            print(error.message)
            exit(1)
        }
    }

    static let usage = """
        reminders DIR WORD …
          add TITLE [LIST]     adds a reminder
          list [LIST]          what is to do
          search WORDS         in titles and notes, also parts of words
          done TITLE           marks as done
          remove TITLE
          undo                 takes the last change back; once more goes back further
          history TITLE        what happened to a reminder
          conflicts            what two devices changed at once; restore NUMBER takes the loser back
          watch                shows the list again after every change, also of other programs
        """

    func run(_ word: String, _ rest: [String]) async throws {
        switch (word, rest.first) {
        case ("add", let title?): try await add(title, list: rest.count > 1 ? rest[1] : "Inbox")
        case ("list", let list): show(try store.read { try toDo(of: list, in: $0) })
        case ("search", let words?):
            let query = TextQuery(words)
            show(try store.read { try $0.view(of: Self.search).records(query, of: Reminder.self) })
        case ("done", let title?): try await change(title) { $0.isDone = true }
        case ("remove", let title?): try await store.delete(try reminder(title).id)
        case ("undo", nil): try await undo()
        case ("history", let title?):
            for step in try store.history(of: try reminder(title).id) {
                print(step.kind, step.author, step.changes.map(\.attribute))
            }
        case ("conflicts", nil):
            for conflict in try store.read({ try $0.conflicts(limit: 20) }) {
                let mine = try conflict.local(as: Reminder.self)?.title ?? "deleted"
                let theirs = try conflict.server(as: Reminder.self)?.title ?? "deleted"
                print("\(conflict.sequence): here \(mine), there \(theirs)")
            }
        case ("restore", let number?): try await store.undoConflict(UInt64(number) ?? 0)
        case ("watch", nil):
            let toDo = Query<Reminder>().where(#Predicate { !$0.isDone }).sorted(by: \.title)
            for try await reminders in store.observe(toDo) { show(reminders) }
        default: print(Self.usage)
        }
    }

    func add(_ title: String, list name: String) async throws {
        try await store.write { tx in
            let found = try tx.first(Query<ReminderList>().where(#Predicate { $0.name == name }))
            let list = found ?? ReminderList(name: name)
            if found == nil { try tx.save(list) }
            try tx.save(Reminder(title: title, list: list.id))
        }
    }

    func toDo(of list: String?, in tx: borrowing ReadTransaction) throws -> [Reminder] {
        let open = Query<Reminder>().where(#Predicate { !$0.isDone }).sorted(by: \.title)
        guard let name = list else { return try tx.fetch(open) }
        let lists = Query<ReminderList>().where(#Predicate { $0.name == name })
        guard let list = try tx.first(lists) else { return [] }
        return try tx.fetch(list.reminders).filter { !$0.isDone }
    }

    func reminder(_ title: String) throws -> Reminder {
        let query = Query<Reminder>().where(#Predicate { $0.title == title })
        guard let found = try store.read({ try $0.first(query) }) else {
            throw StoreError(.notFound, "There is no reminder '\(title)'.")
        }
        return found
    }

    func change(_ title: String, _ body: (inout Reminder) -> Void) async throws {
        var reminder = try reminder(title)
        body(&reminder)
        try await store.save(reminder)
    }

    /// Undoes the last transaction that no undo has taken back yet.
    func undo() async throws {
        let done = try store.read { try $0.transactions(limit: 100) }
        let undone = Set(done.compactMap { UInt64($0.context.dropFirst("undo ".count)) })
        let next = done.first { !$0.context.hasPrefix("undo ") && !undone.contains($0.id) }
        guard let next else { return print("There is nothing to undo.") }
        try await store.undo(transaction: next.id, context: "undo \(next.id)")
    }

    func show(_ reminders: [Reminder]) {
        for reminder in reminders { print(reminder.isDone ? "[x]" : "[ ]", reminder.title) }
        if reminders.isEmpty { print("Nothing.") }
    }
}
