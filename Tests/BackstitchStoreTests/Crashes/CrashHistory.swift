import CrashStates

/// What a store did while everything that it wrote was recorded.
struct CrashHistory {
    static let names = ["data.mdb", "journal"]
    /// The writers of a group, each with a record that counts its saves.
    static let writers = 3

    let recording: Recording
    /// The values by record name after each serial step, from the state before the first.
    let states: [[String: Int]]
    /// The steps in their order, to be told.
    let steps: [CrashWork.Step]

    private static let groupMarks = 1_000_000

    static func mark(_ writer: Int, _ value: Int, hasReturned: Bool) -> Int {
        groupMarks * (writer + 1) + 2 * value + (hasReturned ? 1 : 0)
    }

    /// Whether records are what may be there when everything stopped at an event.
    func allows(_ records: [String: Int], at index: Int) -> Bool {
        let marks = recording.marks(before: index)
        for writer in 0..<Self.writers {
            let own = marks.filter { $0 / Self.groupMarks == writer + 1 }.map {
                $0 % Self.groupMarks
            }
            let begun = own.filter { $0 % 2 == 0 }.map { $0 / 2 }.max() ?? 0
            let returned = own.filter { $0 % 2 == 1 }.map { $0 / 2 }.max() ?? 0
            guard (returned...max(begun, returned)).contains(records["g\(writer)"] ?? 0) else {
                return false
            }
        }
        let own = marks.filter { $0 < Self.groupMarks }
        let begun = own.filter { $0 % 2 == 0 }.map { $0 / 2 + 1 }.max() ?? 0
        let returned = own.filter { $0 % 2 == 1 }.map { $0 / 2 + 1 }.max() ?? 0
        return states[returned...max(begun, returned)].contains(
            records.filter { !$0.key.hasPrefix("g") })
    }

    /// The step that an event belongs to, to be told.
    func step(at index: Int) -> CrashWork.Step? {
        let begun = recording.marks(before: index).filter { $0 < Self.groupMarks && $0 % 2 == 0 }
        return begun.last.map { steps[$0 / 2] }
    }
}
