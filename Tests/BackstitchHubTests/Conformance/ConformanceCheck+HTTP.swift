import BackstitchCore
import CloudKitWire
import Foundation
import Testing

@testable import BackstitchHubCore

extension ConformanceWorld {
    /// Uploads a file for the field `photo` of a record, and gives what the field then holds.
    func upload(_ name: String, _ bytes: String) async -> (address: String, asset: String) {
        let tokens = await post(
            "private/assets/upload",
            """
            {"tokens":[{"recordName":"\(name)","fieldName":"photo"}],"zoneID":{"zoneName":"Z"}}
            """)
        let address = Self.path(tokens.json["tokens"].elements[0]["url"].text)
        let file = await send("POST", address, Array(bytes.utf8))
        var writer = JSONWriter()
        writer.value(file.json["singleFile"])
        return (address, String(decoding: writer.bytes, as: UTF8.self))
    }
}

extension ConformanceCheck {
    static let assets: [ConformanceCheck] = [
        ConformanceCheck("2.11 a receipt of assets/rereference is good for another record") {
            world in
            let (_, asset) = await world.upload("a", "hello")
            #expect(await world.save("a", #"{"photo":{"value":\#(asset)}}"#).code == "")
            let answer = await world.post(
                "private/assets/rereference",
                """
                {"assets":[{"recordName":"a","fieldName":"photo"}],"zoneID":{"zoneName":"Z"}}
                """)
            var writer = JSONWriter()
            writer.value(answer.json["assets"].elements[0])
            let value = String(decoding: writer.bytes, as: UTF8.self)
            #expect(await world.save("b", #"{"picture":{"value":\#(value)}}"#).code == "")
            _ = await world.delete("a")
            let url = await world.lookUp("b")["fields"]["picture"]["value"]["downloadURL"].text
            let file = await world.send("GET", ConformanceWorld.path(url))
            #expect(String(decoding: file.body, as: UTF8.self) == "hello")
            // In another zone it proves nothing.
            let elsewhere = await world.save(
                "c", #"{"picture":{"value":\#(value)}}"#, zone: "Y")
            #expect(elsewhere.code == "BAD_REQUEST")
        },
        ConformanceCheck("2.11 the receipt of an upload is good for its field only") { world in
            let (_, asset) = await world.upload("a", "hello")
            #expect(
                await world.save("b", #"{"photo":{"value":\#(asset)}}"#).code == "BAD_REQUEST")
        },
        ConformanceCheck("2.11 an address takes one file, and is then not there") { world in
            let (address, _) = await world.upload("a", "hello")
            let again = await world.send("POST", address, Array("more".utf8))
            #expect(again.status == 404 && again.code == "NOT_FOUND")
        },
        ConformanceCheck("2.11 a part of a file") { world in
            let (_, asset) = await world.upload("a", "0123456789")
            _ = await world.save("a", #"{"photo":{"value":\#(asset)}}"#)
            let url = await world.lookUp("a")["fields"]["photo"]["value"]["downloadURL"].text
            let path = ConformanceWorld.path(url)
            for (range, status, body, place) in [
                ("bytes=2-4", 206, "234", "bytes 2-4/10"), ("bytes=8-", 206, "89", "bytes 8-9/10"),
                ("bytes=-3", 206, "789", "bytes 7-9/10"),
                ("bytes=5-99", 206, "56789", "bytes 5-9/10"),
                ("bytes=0-1,3-4", 200, "0123456789", ""), ("lines=1-2", 200, "0123456789", ""),
                ("bytes=4-2", 200, "0123456789", ""), ("bytes=-", 200, "0123456789", ""),
            ] {
                let part = await world.send(
                    "GET", path, headers: [HubRequest.Header("Range", range)])
                #expect(part.status == status, "\(range)")
                #expect(String(decoding: part.body, as: UTF8.self) == body, "\(range)")
                #expect(part.headers["content-range"] ?? "" == place, "\(range)")
            }
            for range in ["bytes=10-", "bytes=-0"] {
                let outside = await world.send(
                    "GET", path, headers: [HubRequest.Header("Range", range)])
                #expect(outside.status == 416)
                #expect(outside.headers["content-range"] == "bytes */10")
            }
            let other = await world.send(
                "GET", path,
                headers: [
                    HubRequest.Header("Range", "bytes=0-1"),
                    HubRequest.Header("If-Range", "\"another\""),
                ])
            #expect(other.status == 200)
        },
    ]

    static let http: [ConformanceCheck] = [
        ConformanceCheck("1.2 who is not signed in has to") { world in
            let answer = await world.post("private/zones/list", "{}", as: .anonymous)
            #expect(answer.status == 421 && answer.code == "AUTHENTICATION_REQUIRED")
            #expect(await world.post("public/zones/list", "{}", as: .anonymous).status == 200)
        },
        ConformanceCheck("2.9 who is asked for by the older and the newer call") { world in
            for (call, key) in [("users/current", ""), ("users/caller", "users")] {
                let answer = await world.post("public/\(call)", "", method: "GET")
                let user = key.isEmpty ? answer.json : answer.json[key].elements[0]
                #expect(user["userRecordName"].text == world.fixture.ada.userRecordName)
            }
        },
        ConformanceCheck("1.2 a server key learns who it is, and nothing of other users") { world in
            for (call, key) in [("users/current", ""), ("users/caller", "users")] {
                let answer = try await world.signed("GET", call)
                let user = key.isEmpty ? answer.json : answer.json[key].elements[0]
                let name = user["userRecordName"].text
                #expect(answer.status == 200 && !name.isEmpty)
                #expect(name != world.fixture.ada.userRecordName)
                #expect(name != world.fixture.bob.userRecordName)
            }
            let others = try await world.signed("POST", "users/discover", "{}")
            #expect(others.status == 403 && others.code == "ACCESS_DENIED")
        },
        ConformanceCheck("1.1 preflights of scripts on web pages") { world in
            let base = "/database/1/iCloud.test/development/private/"
            for (target, methods) in [
                (base + "records/modify", "POST"), (base + "zones/list", "GET, POST"),
                ("/upload/1/00", "HEAD, PATCH, POST, PUT"), ("/courier/1/00", "GET"),
                ("/asset/1/a/1/b/c", "GET"),
            ] {
                let answer = await world.send("OPTIONS", target)
                #expect(answer.status == 200, "\(target)")
                #expect(answer.headers["access-control-allow-methods"] == methods)
                #expect(answer.headers["access-control-allow-origin"] == "*")
            }
        },
        ConformanceCheck("1.1 a method that an address does not take") { world in
            let base = "/database/1/iCloud.test/development/private/"
            for (target, methods) in [
                (base + "records/modify", "POST"), (base + "zones/list", "GET, POST"),
                ("/upload/1/00", "HEAD, PATCH, POST, PUT"), ("/healthz", "GET, HEAD, POST"),
                ("/ready", "GET, HEAD"), ("/metrics", "GET"), ("/courier/1/00", "GET"),
                ("/asset/1/a/1/b/c", "GET"), ("/signin/00", "GET, POST"),
            ] {
                for method in ["DELETE", "PATCH", "TRACE"] where !methods.contains(method) {
                    let answer = await world.send(method, target)
                    #expect(answer.status == 405, "\(method) \(target)")
                    #expect(answer.headers["allow"] == methods, "\(method) \(target)")
                }
            }
            #expect(await world.send("DELETE", "/nowhere").status == 404)
        },
        ConformanceCheck("1.1 nobody keeps what is told to one user") { world in
            for call in ["zones/list", "records/lookup", "users/caller"] {
                let answer = await world.post("private/\(call)", "{}")
                #expect(answer.headers["cache-control"] == "no-store", "\(call)")
            }
            let (_, asset) = await world.upload("a", "hello")
            _ = await world.save("a", #"{"photo":{"value":\#(asset)}}"#)
            let url = await world.lookUp("a")["fields"]["photo"]["value"]["downloadURL"].text
            let file = await world.send("GET", ConformanceWorld.path(url))
            #expect(file.headers["cache-control"] == "private, immutable")
        },
        ConformanceCheck("1.1 pages of others don't read what is for operators") { world in
            for page in ["/metrics", "/healthz", "/ready"] {
                let answer = await world.send("GET", page)
                #expect(answer.status == 200)
                #expect(answer.headers["access-control-allow-origin"] == nil, "\(page)")
            }
        },
        ConformanceCheck("4.1 a session that ended asks to sign in") { world in
            world.fixture.advance(milliseconds: HubLimits().sessionMilliseconds)
            let answer = await world.post("private/zones/list", "{}")
            #expect(answer.status == 421 && answer.code == "AUTHENTICATION_REQUIRED")
            #expect(answer.json["redirectURL"].text.contains("/signin/"))
        },
    ]
}
