/// A round that begins at a time.
struct RoundTimer {
    let dueMilliseconds: Int64
    let task: Task<Void, Never>
}
