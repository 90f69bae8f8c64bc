import CloudKitWire

extension DeviceCalls {
    /// Takes a token that a device has already: `tokens/register`.
    func registerToken(_ request: PushTokenRequest, _ call: HubCall) async throws -> HubResponse {
        let row = try tokenRow(request, call)
        guard let token = request.apnsToken, (1...512).contains(token.utf8.count) else {
            throw WireError(.badRequest, "apnsToken is missing.")
        }
        try await keepToken(token, isNew: false, of: row, call)
        return .json(EmptyResponse().body())
    }
}
