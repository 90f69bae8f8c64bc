import CCurl
import Foundation
import Threading

/// Sends requests through libcurl, all on one thread, and keeps connections for those that follow.
///
/// The thread ends when the client is released. A request may be sent twice if a kept connection
/// turns out to be dead, so each has to be safe to repeat.
final class CurlClient: HTTPClient {
    /// How long the thread sleeps if nothing wakes it, in milliseconds.
    private static let sleepMilliseconds: Int32 = 1_000

    /// What the thread is told.
    @safe private final class Mailbox: @unchecked Sendable {  // A lock guards what changes.
        // The lock guards the state; `curl_multi_wakeup` may be called from any thread.
        struct State {
            var calls: [CurlCall] = []
            /// The ids of calls that were cancelled and have not ended. A task can be cancelled before
            /// it sends, so that one may be here before its call is.
            var cancelled: Set<UInt64> = []
            var isClosed = false
        }

        let multi: UnsafeMutableRawPointer
        let state = Locked(State())

        init(multi: UnsafeMutableRawPointer) { unsafe self.multi = unsafe multi }

        func tell(_ change: (inout State) -> Void) {
            state.withLock(change)
            unsafe curl_multi_wakeup(multi)
        }
    }

    private let mailbox: Mailbox
    private let lastID = Locked<UInt64>(0)

    /// A client that trusts the system's certificate authorities, or those of a file in PEM.
    init(certificates: String? = nil) throws(HTTPFailure) {
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK,
            let multi = unsafe curl_multi_init()
        else { throw HTTPFailure(message: "libcurl can't be started.") }
        let mailbox = unsafe Mailbox(multi: multi)
        self.mailbox = mailbox
        SystemThread.detach { Self.run(mailbox, certificates: certificates) }
    }

    deinit { mailbox.tell { $0.isClosed = true } }

    func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
        let id = lastID.withLock { id in
            id += 1
            return id
        }
        let mailbox = mailbox
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let call = CurlCall(id: id, request: request, continuation: continuation)
                mailbox.tell { $0.calls.append(call) }
            }
        } onCancel: {
            mailbox.tell { $0.cancelled.insert(id) }
        }
        // Nothing is kept of a call that has ended, whenever it was cancelled.
        mailbox.state.withLock { _ = $0.cancelled.remove(id) }
        return try result.get()
    }

    /// How many calls were cancelled and have not ended.
    var cancelledCount: Int { mailbox.state.withLock { $0.cancelled.count } }

    // MARK: The thread

    private static func run(_ mailbox: Mailbox, certificates: String?) {
        let multi = unsafe mailbox.multi
        var running: [UInt64: CurlCall] = [:]
        while true {
            let news = mailbox.state.withLock { state in
                defer { state.calls = [] }
                return state
            }
            for call in news.calls {
                guard let handle = unsafe call.prepare(certificates: certificates) else {
                    call.fail("There is no memory for a request.")
                    continue
                }
                running[call.id] = call
                unsafe curl_multi_add_handle(multi, handle)
            }
            for id in news.cancelled {
                guard let call = running.removeValue(forKey: id) else { continue }
                unsafe curl_multi_remove_handle(multi, call.handle)
                call.fail("The request was cancelled.")
            }
            if news.isClosed, running.isEmpty { break }
            unsafe perform(multi, &running)
        }
        unsafe curl_multi_cleanup(multi)
    }

    private static func perform(
        _ multi: UnsafeMutableRawPointer, _ running: inout [UInt64: CurlCall]
    ) {
        var count: Int32 = 0
        unsafe curl_multi_perform(multi, &count)
        var result = CURLE_OK
        while let handle = unsafe backstitch_next_ended(multi, &result) {
            guard let call = unsafe CurlCall.of(handle: handle) else { continue }
            unsafe curl_multi_remove_handle(multi, handle)
            running[call.id] = nil
            call.finish(result)
        }
        unsafe curl_multi_poll(multi, nil, 0, sleepMilliseconds, nil)
    }
}
