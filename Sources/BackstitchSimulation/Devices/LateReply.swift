import Backstitch

/// A reply that an engine still gets after it was stopped.
struct LateReply: Sendable {
    let held: HeldRequest
    let engine: SyncEngine
    /// Whether a round waits for it, which keeps the turn; a transfer of a file looks up records without it.
    let isOfRound: Bool
    /// Before which step it comes.
    var step = 0

    /// Lets the request through, and waits until the engine has taken what came of it.
    func deliver() async {
        held.open()
        await engine.untilEnded()
    }
}
