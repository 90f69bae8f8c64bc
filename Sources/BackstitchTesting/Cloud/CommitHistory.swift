/// The commits that a server has.
///
/// A commit is named by the run that made it and its number. A server whose data is put back to an older state
/// begins another run, so that the runs whose commits are lost stay where they were, however far others write
/// past the place.
struct CommitHistory: Sendable {
    /// A commit.
    struct Mark: Hashable, Sendable {
        var run = 0
        var number = 0
    }

    /// The last commit.
    private(set) var last = Mark()
    /// How far the runs before came, by their numbers.
    private var ends: [Int: Int] = [:]

    /// Notes a commit.
    mutating func note() { last.number += 1 }

    /// Begins another run.
    mutating func begin(run: Int) {
        ends[last.run] = last.number
        last.run = run
    }

    /// Whether a commit is there.
    func holds(_ mark: Mark) -> Bool {
        mark.number <= (mark.run == last.run ? last.number : ends[mark.run] ?? -1)
    }
}
