import CloudKitWire
import Foundation
import WireCrypto

extension DeviceCalls {
    /// Makes a courier token, by which a device hears of changes: `tokens/create`.
    func createToken(_ request: PushTokenRequest, _ call: HubCall) async throws -> HubResponse {
        let row = try tokenRow(request, call)
        let token = Data(configuration.clock.secret(32)).base64EncodedString()
        try await keepToken(token, isNew: true, of: row, call)
        let path = Array(token.utf8).hexadecimal
        let response = PushTokenResponse(
            apnsEnvironment: request.apnsEnvironment, apnsToken: token,
            webcourierURL: "\(address.baseURL)/courier/1/\(path)")
        return .json(response.body())
    }
}
