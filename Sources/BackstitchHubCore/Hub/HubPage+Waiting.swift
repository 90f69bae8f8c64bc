extension HubPage {
    /// Has a request be answered without a task that waits with it; false if it is not for a page whose
    /// requests wait.
    ///
    /// - Parameter answer: Gets the answer, on any thread.
    static func submit(
        _ request: HubRequest, _ work: RequestWork, to hub: Hub,
        _ answer: @escaping @Sendable (HubResponse?) -> Void
    ) -> Bool {
        guard let page = at(request.target), let waiting = page.waiting,
            page.methods.contains(request.method), let target = request.address?.target
        else { return false }
        waiting(hub, target) { [name = page.name] result in
            let response: HubResponse
            do {
                response = hub.replies.finished(try result.get(), of: name, request)
            } catch {
                response = hub.replies.refusal(to: error, of: name, request)
            }
            work.countMade(bytes: response.byteCount)
            answer(response)
        }
        return true
    }

    /// Answers with the next notification: the courier's address.
    static let nextNotification: Waiting = { hub, target, answer in
        // Both tasks are the request's, which has its answer at the end of the one or the other.
        Task {
            do {
                let (hash, listener) = try await hub.devices.courier(at: target)
                let now = hub.configuration.steadyNow
                hub.mailboxes.wait(hash, of: listener, now: now) { notification in
                    guard let notification else { return answer(.success(.json([]))) }
                    Task {
                        do {
                            try await answer(
                                .success(
                                    hub.devices.answer(notification, to: listener, at: hash)))
                        } catch { answer(.failure(error)) }
                    }
                }
            } catch { answer(.failure(error)) }
        }
    }
}
